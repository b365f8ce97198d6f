"""What maintainers' verdicts make of the weights of templates, and that all of it can be taken back."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.forget import feedback_of, forget, learned_from
from memory.model import (
    Actor,
    Arm,
    AttemptOutcome,
    Decision,
    EditShape,
    Experience,
    Family,
    Permission,
    SignalKind,
    State,
    TaskKind,
)
from memory.policy.learner import Learner
from memory.rewards import rejected
from memory.store import Store
from memory.template_weights import LEAST, edit_weights, judged_edits, verdict_weights
from tests.databases import migrated_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = {"none_guard": "guards", "empty_guard": "guards", "own_conversion": "conversions"}
PRIOR = dict.fromkeys(KINDS, 0.5)
HERE, ADA, BEN = "o/here", Actor(id=1, login="ada"), Actor(id=2, login="ben")


class Fixes:
    """Proven fixes in a store, and verdicts on them."""

    def __init__(self, store: Store, learner: Learner) -> None:
        self.store = store
        self.learner = learner
        self._numbers = count()

    def fix(self, template: str, repository: str = HERE, family: Family = Family.TYPE) -> Decision:
        """A fix that a template makes."""
        number = next(self._numbers)
        state = State(kind=TaskKind.REPAIR, repository=repository, label="TypeError", family=family)
        made = self.learner.decide(f"t{number}", state, ("guards",), arm=Arm.LEARNED, prior={"guards": 0.5})
        self.learner.conclude(made, {"suite_green": 1.0})
        self.store.experiences.add(experience(made.id, template, repository, family), "text")
        return made

    def judge(
        self, fix: Decision, kind: SignalKind, actor: Actor = ADA, permission: Permission = Permission.WRITE
    ) -> None:
        self.learner.record_signal(fix.id, kind, actor, permission, f"{kind}:{actor.id}")

    def weights(self, repository: str = HERE, family: Family = Family.TYPE) -> dict[str, float]:
        """The weights by verdicts, as a search derives them."""
        known = self.store.experiences.all()
        judged = judged_edits(known, self.store.ledger.live_signals([each.id for each in known]))
        return verdict_weights(judged, KINDS, repository=repository, family=family)

    def by_tests(self) -> dict[str, float]:
        """The weights by tests, as a search derives them."""
        known = self.store.experiences.all()
        opposed = rejected(self.store.ledger.live_signals([each.id for each in known]))
        return edit_weights(known, Family.TYPE, PRIOR, opposed)

    def state(self) -> tuple[str, dict[str, float], dict[str, float]]:
        return self.store.ledger.cells_digest(), self.weights(), self.by_tests()


def experience(number: str, template: str, repository: str, family: Family) -> Experience:
    return Experience(
        id=number,
        repository=repository,
        task_id=number,
        error_type="TypeError",
        family=family,
        signature="",
        path="a.py",
        strategy="guards",
        outcome=AttemptOutcome.PROVEN,
        reflection="",
        patch="",
        shape=EditShape(template=template, before="$0", after="int ( $0 )"),
        created_at=NOW,
        tried={"none_guard": 5, "own_conversion": 5},
    )


@pytest.fixture
def fixes(store: Store, learner: Learner) -> Fixes:
    return Fixes(store, learner)


def test_without_verdicts_nothing_is_weighed(fixes: Fixes) -> None:
    """A fix that nobody judged says nothing of taste."""
    fixes.fix("none_guard")
    assert fixes.weights() == {}


def test_a_resolved_thread_is_no_verdict(fixes: Fixes) -> None:
    """It neither moves a weight nor makes older verdicts decay."""
    fixes.judge(fixes.fix("none_guard"), SignalKind.FIX_CLOSED)
    before = fixes.weights()
    fixes.judge(fixes.fix("none_guard"), SignalKind.THREAD_RESOLVED)
    assert fixes.weights() == before


def test_a_rejected_fix_lowers_its_like(fixes: Fixes) -> None:
    """Its template most, the other templates of its strategy less, and other kinds not at all."""
    fixes.judge(fixes.fix("none_guard"), SignalKind.FIX_CLOSED)
    weights = fixes.weights()
    assert weights["none_guard"] < weights["empty_guard"] < 1.0
    assert "own_conversion" not in weights


@pytest.mark.parametrize(
    "kind", [SignalKind.FIX_CLOSED, SignalKind.FIX_EDITED, SignalKind.FIX_REVERTED, SignalKind.REJECTED]
)
def test_every_way_to_refuse_a_fix_lowers_it(fixes: Fixes, kind: SignalKind) -> None:
    """A fix that was closed, replaced before the merge, reverted or rejected in words counts against its template."""
    fixes.judge(fixes.fix("none_guard"), kind)
    assert fixes.weights()["none_guard"] < 1.0


def test_an_accepted_fix_raises_its_like(fixes: Fixes) -> None:
    """A merge raises the template, and in the family of the failure more than in others."""
    fixes.judge(fixes.fix("own_conversion"), SignalKind.FIX_MERGED)
    assert fixes.weights()["own_conversion"] > fixes.weights(family=Family.LOOKUP)["own_conversion"] > 1.0


def test_what_is_always_rejected_stays_findable(fixes: Fixes) -> None:
    """No number of rejections takes a weight to nothing."""
    for _ in range(19):
        fixes.judge(fixes.fix("none_guard"), SignalKind.REJECTED)
    assert LEAST <= fixes.weights()["none_guard"] < 0.3


def test_a_new_taste_outweighs_an_old_one(fixes: Fixes) -> None:
    """After ten acceptances ten rejections are enough: old verdicts decay with new ones of the kind."""
    for kind in (SignalKind.FIX_MERGED, SignalKind.FIX_CLOSED):
        for _ in range(10):
            fixes.judge(fixes.fix("own_conversion"), kind)
    assert fixes.weights()["own_conversion"] < 0.5


def test_verdicts_on_other_kinds_do_not_decay_it(fixes: Fixes) -> None:
    """What is known of guards stays while only conversions are proposed."""
    fixes.judge(fixes.fix("none_guard"), SignalKind.FIX_CLOSED)
    before = fixes.weights()["none_guard"]
    for _ in range(9):
        fixes.judge(fixes.fix("own_conversion"), SignalKind.FIX_MERGED)
    assert fixes.weights()["none_guard"] == before


def test_several_signals_of_one_account_are_one_verdict(fixes: Fixes) -> None:
    """Who rejects in words, closes and reacts to the same fix says one thing."""
    once, often = fixes.fix("none_guard"), fixes.fix("own_conversion")
    fixes.judge(once, SignalKind.REJECTED)
    for kind in (SignalKind.REJECTED, SignalKind.FIX_CLOSED, SignalKind.REACTION_DOWN):
        fixes.judge(often, kind)
    weights = fixes.weights()
    assert weights["own_conversion"] == weights["none_guard"]


def test_trust_counts(fixes: Fixes) -> None:
    """Triage counts half, and an outsider nothing: their verdict changes no weight at all."""
    fix = fixes.fix("none_guard")
    fixes.judge(fix, SignalKind.REJECTED, permission=Permission.READ)
    assert fixes.weights() == {}
    fixes.judge(fix, SignalKind.REJECTED, BEN, Permission.TRIAGE)
    half = fixes.weights()["none_guard"]
    fixes.judge(fix, SignalKind.REJECTED, Actor(id=3, login="eve"))
    assert fixes.weights()["none_guard"] < half < 1.0


def test_other_repositories_need_a_quorum(fixes: Fixes) -> None:
    """One other repository says nothing here, however loud; two with two people do; this one's own verdict weighs more."""
    for _ in range(10):
        fixes.judge(fixes.fix("none_guard", "o/one"), SignalKind.REJECTED)
        fixes.judge(fixes.fix("none_guard", "o/one"), SignalKind.REJECTED, BEN)
    assert fixes.weights() == {}
    fixes.judge(fixes.fix("empty_guard", "o/two"), SignalKind.REJECTED, BEN)
    shared = fixes.weights()
    assert shared["none_guard"] == shared["empty_guard"] < 1.0
    fixes.judge(fixes.fix("none_guard"), SignalKind.FIX_MERGED)
    assert fixes.weights()["none_guard"] > 1.0


def test_one_person_in_many_repositories_is_no_quorum(fixes: Fixes) -> None:
    """An account that teaches everywhere is one account."""
    for repository in ("o/one", "o/two", "o/three"):
        fixes.judge(fixes.fix("none_guard", repository), SignalKind.REJECTED)
    assert fixes.weights() == {}


def test_a_rejected_fix_repaired_nothing(fixes: Fixes) -> None:
    """By the tests, too, a template gains nothing from a fix that maintainers rejected."""
    made = [fixes.fix("own_conversion") for _ in range(4)]
    proven = fixes.by_tests()["own_conversion"]
    for fix in made:
        fixes.judge(fix, SignalKind.FIX_CLOSED)
    assert fixes.by_tests()["own_conversion"] < proven


def test_a_pair_of_edits_is_judged_as_both(fixes: Fixes) -> None:
    """Of a fix with two edits, each template gets its part."""
    fix = fixes.fix("none_guard")
    known = fixes.store.experiences.get(fix.id)
    assert known is not None
    shape = EditShape(template="none_guard+own_conversion", before="a … b", after="c … d")
    fixes.judge(fix, SignalKind.REJECTED)
    judged = judged_edits([replace(known, shape=shape)], fixes.store.ledger.live_signals([fix.id]))
    weights = verdict_weights(judged, KINDS, repository=HERE, family=Family.TYPE)
    assert fixes.weights()["none_guard"] < weights["none_guard"] == weights["own_conversion"] < 1.0


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kept=st.lists(st.integers(0, 5), max_size=4),
    given_=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(sorted(SignalKind)), st.integers(3, 6)), min_size=1, max_size=10
    ),
    way=st.sampled_from(["retract", "forget"]),
)
def test_what_is_taken_back_leaves_no_trace(
    kept: Sequence[int], given_: Sequence[tuple[int, SignalKind, int]], way: str
) -> None:
    """Verdicts of any kinds that are retracted, or forgotten with their teachers, leave the very same weights and table."""
    with tempfile.TemporaryDirectory() as home, migrated_store(Path(home, "memory.db")) as store:
        times = count()
        clock = lambda: NOW + timedelta(seconds=next(times))  # noqa: E731  a function of one line
        learner = Learner(store, random.Random(7), clock, control_share=0.0)
        fixes = Fixes(store, learner)
        repositories = (HERE, HERE, HERE, "o/one", "o/two", "o/three")
        made = [fixes.fix(list(KINDS)[n % 3], repository) for n, repository in enumerate(repositories)]
        for number in kept:
            fixes.judge(made[number], SignalKind.REACTION_UP)
            fixes.judge(made[number], SignalKind.FIX_CLOSED, BEN)
        before = fixes.state()
        for number, kind, account in given_:
            fixes.judge(made[number], kind, Actor(id=account, login=f"m{account}"))
        if way == "retract":
            for number, kind, account in given_:
                learner.retract(made[number].id, kind, f"{kind}:{account}")
        else:
            for account in range(3, 7):
                forget(store, feedback_of(store, account), now=clock(), new_id=lambda: f"undo-{next(times)}")
        assert fixes.state() == before


def test_a_forgotten_decision_takes_its_experience_along(fixes: Fixes) -> None:
    """What one decision taught is gone from the table, the weights by tests and by verdicts, and from memory."""
    fixes.judge(fixes.fix("none_guard"), SignalKind.FIX_MERGED)
    before = fixes.state()
    fix = fixes.fix("own_conversion")
    fixes.judge(fix, SignalKind.FIX_CLOSED)
    assert fixes.state() != before
    numbers = count()
    forget(fixes.store, learned_from(fixes.store, fix.id), now=NOW, new_id=lambda: f"undo-{next(numbers)}")
    assert fixes.state() == before
    assert fixes.store.experiences.get(fix.id) is None
