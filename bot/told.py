"""What the commands about learning say to people: values of the memory as tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.sheets import Sheet
from bot.took import costs_told, parts_told
from memory.addressed import Addressed
from memory.audit import Item
from memory.evaluation import Estimates, Evaluation, Figure
from memory.explanation import Explanation, Option, Row, said
from memory.model import Skill, SkillState
from memory.rollback import Comparison, Judgement
from memory.stats import ArmStats, MissedEarlier, Pattern, Stats
from memory.suppression import Suppression

BAR = 12
MOST_SHOWN = 3

UNITS = {
    "decision": "mean proof target of one decision, in the states that were met",
    "episode": "chance that an episode ends with a proof, with the attempts that it had",
}


def why(explanation: Explanation) -> list[Sheet]:
    """`apprentice why`: the choice, the odds, the row of what was chosen, the nearest cases, and what came of it."""
    return [
        _choice(explanation),
        _odds(explanation),
        *_evidence(explanation),
        *_neighbours(explanation),
        _after(explanation),
    ]


def _choice(this: Explanation) -> Sheet:
    subject = f" about finding {this.subject[:12]}" if this.subject else ""
    tried = f", after {', '.join(this.tried)}" if this.tried else ""
    now = "" if this.policy_now == this.policy_version else f" (in use now: {this.policy_now})"
    return Sheet(
        title=f"{this.chosen}, with probability {this.probability:.2f}",
        notes=(
            f"{this.kind} in {this.repository}: {this.label} ({this.family}){tried}{subject}",
            f"{this.arm} arm, policy {this.policy_version}{now}, decision {this.decision_id}",
            this.reason,
        ),
    )


def _odds(this: Explanation) -> Sheet:
    options = sorted(this.options, key=lambda option: -option.probability)
    proof = any(option.proof is not None for option in options)
    head = ("option", "odds then", "") + (("proof now",) if proof else ()) + ("acceptance now",)
    rows = tuple(_option(each, chosen=each.name == this.chosen, proof=proof) for each in options)
    return Sheet(title="Options", columns=head, rows=rows)


def _option(option: Option, *, chosen: bool, proof: bool) -> tuple[str, ...]:
    bar = "█" * round(option.probability * BAR)
    proven = (
        () if not proof else ("" if option.proof is None else f"{option.proof:.2f} ± {option.proof_deviation:.2f}",)
    )
    accepted = f"{option.acceptance:.2f} ± {option.acceptance_deviation:.2f}"
    return (f"{'›' if chosen else ' '} {option.name}", f"{option.probability:.2f}", bar, *proven, accepted)


def _evidence(this: Explanation) -> list[Sheet]:
    """The table's row of what was chosen; of review, where there is one for all actions, that."""
    rows = [row for row in this.table if row.strategy in (this.chosen, "finding")]
    if not rows:
        return [Sheet(title="Evidence", notes=("none yet: the priors speak",))]
    by_level: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        by_level.setdefault((row.scope, row.key), {})[row.factor] = row
    shown = tuple(
        (scope, key.partition("|")[2] or "all", _cell(found.get("proof")), _cell(found.get("acceptance")))
        for (scope, key), found in by_level.items()
    )
    return [Sheet(title=f"Evidence for {this.chosen}", columns=("level", "of", "proof", "acceptance"), rows=shown)]


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    witnesses = f", {row.witnesses} repositories" if row.witnesses > 1 else ""
    return f"{row.mean:.2f} over {row.count:.1f}{witnesses}"


def _neighbours(this: Explanation) -> list[Sheet]:
    rows = tuple((near.error_type, near.strategy, near.outcome.replace("_", " ")) for near in this.neighbours)
    return [Sheet(title="Similar cases here", columns=("error", "strategy", "outcome"), rows=rows)] if rows else []


def _after(this: Explanation) -> Sheet:
    notes = []
    if this.target is not None:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in this.components.items())
        notes.append(f"tests: {parts}; target {this.target:.2f}{', taken back' if this.withdrawn else ''}")
    notes += map(said, this.signals)
    if this.advantage is not None:
        notes.append(f"{abs(this.advantage):.2f} {'better' if this.advantage >= 0.0 else 'worse'} than expected")
    return Sheet(title="What came of it", notes=tuple(notes) or ("nobody has said anything: silence teaches nothing",))


def stats(found: Stats) -> list[Sheet]:
    """`apprentice stats`."""
    gone_back = (f"not the newest: {found.since}",) if found.since else ()
    return [
        Sheet(
            title=f"Repairs by arm, policy {found.version}",
            columns=("arm", "repairs", "fixed", "95 % interval", "candidates to a fix"),
            rows=tuple(map(_arm, found.arms)),
            notes=(
                *gone_back,
                f"fix rate: {found.fix_rate.verdict}",
                f"candidates to the first fix: {found.candidates.verdict}",
                *(f"{each.measure}, looked at as often as you like: {each.verdict}" for each in found.uplift),
            ),
        ),
        Sheet(
            title="What became of findings",
            columns=(
                "action",
                "findings",
                "grave",
                "addressed",
                "silenced or left",
                "went otherwise",
                "share addressed",
            ),
            rows=tuple(map(_addressed, found.addressed)),
        ),
        Sheet(
            title="Findings kept quiet",
            columns=("action", "findings", "shown all the same", "judged", "would have been accepted"),
            rows=tuple(map(_suppressed, found.suppression)),
        ),
        Sheet(title="Findings missed in an earlier round", notes=(_missed(found.missed),)),
        Sheet(
            title="Acceptance by rule",
            columns=("rule", "decisions", "verdicts", "acceptance", "repositories"),
            rows=tuple(map(_pattern, found.patterns)),
            notes=() if found.patterns else ("no verdicts yet",),
        ),
        *_skills(found.skills),
        *costs_told(found.costs),
        *parts_told(found.parts),
    ]


def _missed(missed: MissedEarlier) -> str:
    unread = f", {missed.unread} of them in files not fully read then" if missed.unread else ""
    return f"{missed.findings} of {missed.of} that were said{unread}"


def _pattern(pattern: Pattern) -> tuple[str, ...]:
    verdicts, acceptance = f"{pattern.verdicts:.1f}", f"{pattern.acceptance:.2f}"
    return (pattern.rule, str(pattern.decisions), verdicts, acceptance, str(pattern.repositories))


def _skills(skills: Sequence[Skill]) -> list[Sheet]:
    """What accepted fixes taught; those that wait for one of theirs to be accepted are only counted."""
    shown = tuple(map(_skill, (each for each in skills if each.state is not SkillState.CANDIDATE)))
    waiting = len(skills) - len(shown)
    notes = (f"{waiting} more wait for a fix of theirs to be accepted",) if waiting else ()
    head = ("skill", "state", "edit", "wins of tries", "rate", "taught in")
    return [Sheet(title="Skills", columns=head, rows=shown, notes=notes)] if skills else []


def _skill(skill: Skill) -> tuple[str, ...]:
    edit = " → ".join(" ".join(side.split()) or "nothing" for side in (skill.before, skill.after))
    tries = f"{skill.wins} of {skill.tries}"
    return (skill.id, skill.state, edit, tries, f"{skill.rate:.2f}", ", ".join(skill.repositories))


def _arm(arm: ArmStats) -> tuple[str, ...]:
    if arm.rate is None:
        return (arm.arm, "0", "", "", "")
    speed = "" if arm.mean_candidates is None else f"{arm.mean_candidates:.1f}"
    return (
        arm.arm,
        str(arm.tasks),
        f"{arm.fixed} ({arm.rate:.0%})",
        f"{arm.rate_low:.0%} to {arm.rate_high:.0%}",
        speed,
    )


def _addressed(found: Addressed) -> tuple[str, ...]:
    share = "not known yet" if found.share is None else f"{found.share:.0%} ({found.low:.0%} to {found.high:.0%})"
    counts = (found.findings, found.grave, found.addressed, found.stood, found.otherwise)
    return (found.action.replace("_", " with "), *map(str, counts), share)


def _suppressed(found: Suppression) -> tuple[str, ...]:
    rate = "not known yet" if found.rate is None else f"{found.rate:.0%} ({found.low:.0%} to {found.high:.0%})"
    return (found.action, str(found.findings), str(found.shown), str(found.judged), rate)


def evaluations(found: Sequence[Evaluation], judged: Judgement, since: str) -> list[Sheet]:
    """`apprentice evaluate`: every policy by decision and by episode, and what the roll-back rule says."""
    when = f", decisions from {since} on" if since else ""
    sheets = []
    for unit, meaning in UNITS.items():
        each = [(one.policy, one.decision if unit == "decision" else one.episode) for one in found]
        notes = tuple(f"{name}: refused: {told.refused}" for name, told in each if told.refused)
        cut = tuple(f"{name}: {told.clipped:.1%} of weights were cut" for name, told in each if told.clipped)
        sheets.append(
            Sheet(
                title=f"By {unit}: {meaning}{when}",
                columns=("policy", "n", "worth", "IPS", "SNIPS", "doubly robust", "accepted if proven", "accepted"),
                rows=tuple(_estimates(name, told) for name, told in each),
                notes=(*notes, *cut),
            )
        )
    return [*sheets, _judgement(judged)]


def _estimates(name: str, told: Estimates) -> tuple[str, ...]:
    figures = (told.ips, told.snips, told.dr, told.acceptance, told.value)
    return (name, str(told.n), f"{told.effective:.0f}", *map(_figure, figures))


def _figure(figure: Figure | None) -> str:
    return "" if figure is None else f"{figure.value:.2f} ({figure.low:.2f}–{figure.high:.2f})"


def _judgement(judged: Judgement) -> Sheet:
    stay = judged.use == judged.version
    verdict = "it stays in use" if stay else f"the next daily check goes back to {judged.use}"
    return Sheet(
        title=f"Policy in use: {judged.version}; {judged.reason}; {verdict}",
        columns=("against", "measure", "difference", "always-valid interval"),
        rows=tuple(map(_comparison, judged.comparisons)),
        notes=() if judged.comparisons else ("control is the yardstick, and is not judged",),
    )


def _comparison(each: Comparison) -> tuple[str, ...]:
    if each.band is None:
        return (each.against, each.measure, "not known yet", each.unknown)
    return (each.against, each.measure, f"{each.band.mean:+.3f}", f"{each.band.low:+.3f} to {each.band.high:+.3f}")


def audit(items: Sequence[Item]) -> list[Sheet]:
    """`apprentice audit`: what to look at, what matters most first."""
    if not items:
        return [Sheet(title="Nothing to look at")]
    return [
        Sheet(
            title=f"{len(items)} to look at",
            columns=("alarm", "about", "what", "where", "what to do"),
            rows=tuple((i.alarm, i.about, i.what, _where(i.evidence), i.advice) for i in items),
            notes=("all ids: --json",),
        )
    ]


def _where(evidence: Sequence[str]) -> str:
    more = len(evidence) - MOST_SHOWN
    return ", ".join(evidence[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
