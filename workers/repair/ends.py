"""How an attempt ended, from what it counted and what was proven. Pure."""

from __future__ import annotations

from memory.model import AttemptOutcome
from workers.repair.proofs import Proofs
from workers.repair.reflection import Facts
from workers.repair.shortlist import Tally


def outcome_of(proofs: Proofs, *, spent: bool) -> AttemptOutcome:
    """How an attempt ended; `spent` tells that its time was used up."""
    if proofs.best is not None:
        return AttemptOutcome.PROVEN
    if proofs.made:
        return AttemptOutcome.UNPROVEN
    return AttemptOutcome.OUT_OF_BUDGET if spent else AttemptOutcome.NOTHING_PLAUSIBLE


def facts(tally: Tally, proofs: Proofs, strategies: tuple[str, ...], outcome: AttemptOutcome) -> Facts:
    """What there is to say about an attempt."""
    shown = proofs.best.candidate if proofs.best else tally.shown()
    nearest = tally.nearest
    return Facts(
        strategies=strategies,
        outcome=outcome,
        failure=tally.failure,
        candidates=tally.candidates + tally.rivals,
        plausible=tally.plausible,
        nearest=shown.template if shown else "",
        path=shown.path if shown else "",
        line=shown.line if shown else 0,
        passed=nearest.passed if nearest else 0,
        error_type=nearest.error_type if nearest else "",
        message=nearest.message if nearest else "",
        objection=proofs.objection,
    )
