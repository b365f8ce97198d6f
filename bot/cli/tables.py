"""What the commands about learning print for people: values of the memory as tables. Pure."""

from collections.abc import Callable, Mapping, Sequence

from bot.cli.console import TextTable
from memory.evaluation.audit import AuditItem
from memory.evaluation.findings import AddressedShare, HiddenShare
from memory.evaluation.off_policy import EstimatedValue, Estimates
from memory.evaluation.pooling import PooledUplift
from memory.evaluation.rollback import VersionComparison, VersionJudgement
from memory.forget import SignalsToForget
from memory.sharing import Learnings
from memory.skills import Skill, SkillState, written_out
from memory.stats import ArmStats, CostPerAccepted, Costs, MissedEarlier, RuleAcceptance, Stats
from memory.store.calls import PurposeCost
from workers.messages.markdown import first_of

MICROS = 1_000_000
MAX_SHOWN = 3


def stats(found: Stats) -> list[TextTable]:
    gone_back = (f"not the newest: {found.since}",) if found.since else ()
    ends = ("action", "findings", "grave", "addressed", "silenced or left", "removed otherwise", "share addressed")
    return [
        TextTable(
            title=f"Repairs by arm, policy {found.version}",
            columns=("arm", "repairs", "fixed", "95 % interval", "candidates to a fix"),
            rows=tuple(map(_arm, found.arms)),
            notes=(
                *gone_back,
                f"fix rate: {found.fix_rate.verdict}",
                f"candidates to the first fix: {found.candidates.verdict}",
                *(f"{each.measure}, valid at every look: {each.verdict}" for each in found.uplift),
                *(f"{each.measure}, still to go: {each.outlook}" for each in found.uplift),
                *_pooled(found.pooled),
            ),
        ),
        TextTable(
            title="Outcomes of findings",
            columns=ends,
            rows=tuple(map(_addressed, found.addressed)),
        ),
        TextTable(
            title="Hidden findings",
            columns=("action", "findings", "shown anyway", "judged", "would have been accepted"),
            rows=tuple(map(_suppressed, found.suppression)),
        ),
        TextTable(title="Findings missed in an earlier round", notes=(_missed(found.missed),)),
        TextTable(
            title="Acceptance by rule",
            columns=("rule", "decisions", "verdicts", "acceptance", "repositories"),
            rows=tuple(map(_pattern, found.patterns)),
            notes=() if found.patterns else ("no verdicts yet",),
        ),
        *_skills(found.skills),
        *costs(found.costs),
    ]


def _pooled(pooled: PooledUplift | None) -> Sequence[str]:
    """The difference over several installations; nothing without files."""
    if pooled is None:
        return ()
    between = "" if pooled.spread is None else f"; between installations ± {pooled.spread:.2f}"
    own = f"; {pooled.own_file} is of this one, whose ledger is counted instead" if pooled.own_file else ""
    where = f"{pooled.installations} installations, {pooled.tasks:,} repairs"
    return (f"fixed, pooled over {where}: {pooled.verdict}{between}{own}",)


def _missed(missed: MissedEarlier) -> str:
    unread = f", {missed.unread} of them in files not fully read then" if missed.unread else ""
    return f"{missed.findings} of {missed.of} posted{unread}"


def _pattern(pattern: RuleAcceptance) -> tuple[str, ...]:
    verdicts, acceptance = f"{pattern.verdicts:.1f}", f"{pattern.acceptance:.2f}"
    return (pattern.rule, str(pattern.decisions), verdicts, acceptance, str(pattern.repositories))


def _skills(skills: Sequence[Skill]) -> list[TextTable]:
    """Skills learned from accepted fixes; candidates without an accepted fix are only counted."""
    shown = tuple(map(_skill, (each for each in skills if each.state is not SkillState.CANDIDATE)))
    waiting = len(skills) - len(shown)
    notes = (f"{waiting} more wait for an accepted fix",) if waiting else ()
    head = ("skill", "state", "edit", "wins of tries", "rate", "learned in")
    return [TextTable(title="Skills", columns=head, rows=shown, notes=notes)] if skills else []


def _skill(skill: Skill) -> tuple[str, ...]:
    tries = f"{skill.wins} of {skill.tries}"
    return (
        skill.name,
        skill.state,
        written_out(skill.shape),
        tries,
        f"{skill.rate:.2f}",
        ", ".join(skill.repositories),
    )


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


def _addressed(found: AddressedShare) -> tuple[str, ...]:
    counts = (found.findings, found.grave, found.addressed, found.stood, found.otherwise)
    return (found.action.replace("_", " with "), *map(str, counts), _share(found.share, found.low, found.high))


def _suppressed(found: HiddenShare) -> tuple[str, ...]:
    counts = (found.findings, found.shown, found.judged)
    return (found.action, *map(str, counts), _share(found.rate, found.low, found.high))


def _share(share: float | None, low: float, high: float) -> str:
    return "not known yet" if share is None else f"{share:.0%} ({low:.0%} to {high:.0%})"


def costs(costs: Costs | None) -> list[TextTable]:
    """What calls to a model cost; nothing where no model was called."""
    if costs is None:
        return []
    head = ("repository", "purpose", "model", "calls", "failed", "read", "from cache", "written", "US dollars")
    notes = tuple(map(_per_accepted, costs.per_accepted))
    return [TextTable(title="Model costs", columns=head, rows=tuple(map(_spent, costs.calls)), notes=notes)]


def _spent(spent: PurposeCost) -> tuple[str, ...]:
    counts = (spent.calls, spent.failed, spent.prompt, spent.cached, spent.completion)
    return (spent.repository, spent.purpose, spent.tier, *map(str, counts), _dollars(spent.micros))


def _per_accepted(each: CostPerAccepted) -> str:
    if each.tokens_each is None or each.micros_each is None:
        return f"an accepted {each.what}: not known yet, none of {each.tasks} tasks led to one"
    price = f"{each.tokens_each:.0f} tokens, {_dollars(each.micros_each)} US dollars"
    return f"an accepted {each.what}: {price} ({each.accepted} accepted, {each.tasks} tasks)"


def _dollars(micros: float) -> str:
    return f"{micros / MICROS:.4f}"


def evaluations(found: Mapping[str, Estimates], judged: VersionJudgement, since: str) -> list[TextTable]:
    """`apprentice evaluate`: every policy by decision, and what the roll-back rule decides."""
    when = f", decisions from {since} on" if since else ""
    refused = tuple(f"{name}: refused: {figures.refused}" for name, figures in found.items() if figures.refused)
    cut = tuple(
        f"{name}: {figures.clipped:.1%} of weights were cut" for name, figures in found.items() if figures.clipped
    )
    estimates = TextTable(
        title=f"Mean proof target of one decision, in the states of the log{when}",
        columns=("policy", "n", "worth", "IPS", "SNIPS", "doubly robust", "accepted if proven", "accepted"),
        rows=tuple(_estimates(name, figures) for name, figures in found.items()),
        notes=(*refused, *cut),
    )
    return [estimates, _judgement(judged)]


def _estimates(name: str, found: Estimates) -> tuple[str, ...]:
    figures = (found.ips, found.snips, found.dr, found.acceptance, found.value)
    return (name, str(found.n), f"{found.effective:.0f}", *map(_figure, figures))


def _figure(figure: EstimatedValue | None) -> str:
    return "" if figure is None else f"{figure.value:.2f} ({figure.low:.2f}–{figure.high:.2f})"


def _judgement(judged: VersionJudgement) -> TextTable:
    stay = judged.use == judged.version
    verdict = "stays in use" if stay else f"the next daily check goes back to {judged.use}"
    return TextTable(
        title=f"Policy in use: {judged.version}; {judged.reason}; {verdict}",
        columns=("against", "measure", "difference", "always-valid interval"),
        rows=tuple(map(_comparison, judged.comparisons)),
        notes=() if judged.comparisons else ("control is the reference and is not judged",),
    )


def _comparison(each: VersionComparison) -> tuple[str, ...]:
    if each.band is None:
        return (each.against, each.measure, "not known yet", each.unknown)
    return (each.against, each.measure, f"{each.band.mean:+.3f}", f"{each.band.low:+.3f} to {each.band.high:+.3f}")


def audit(items: Sequence[AuditItem]) -> list[TextTable]:
    """`apprentice audit`: what to look at, what matters most first."""
    if not items:
        return [TextTable(title="Nothing to look at")]
    return [
        TextTable(
            title=f"{len(items)} to look at",
            columns=("alarm", "about", "what", "where", "what to do"),
            rows=tuple((i.alarm, i.about, i.what, first_of(i.evidence, MAX_SHOWN), i.advice) for i in items),
            notes=("all ids: --json",),
        )
    ]


def lessons(
    found: SignalsToForget, experience: str, *, past: int, name_of: Callable[[str], str] = str
) -> list[TextTable]:
    """`apprentice forget`: what is to be undone."""
    rows = tuple(
        (repository, by, what.replace("_", " "), f"{weight:.1f}", str(count))
        for (repository, by, what, weight), count in found.counted(name_of)
    )
    notes = (
        *((f"{past} findings in its history",) if past else ()),
        *((f"experience {experience}",) if experience else ()),
    )
    title = "To forget" if rows or notes else "The table holds nothing of it"
    return [
        TextTable(title=title, columns=("repository", "by", "what", "weight each", "count"), rows=rows, notes=notes)
    ]


def imports(known: Sequence[Learnings]) -> list[TextTable]:
    """`apprentice import`: the sources, and what their lessons are about."""
    rows = tuple(
        (each.source, str(len(each.lessons)), ", ".join(sorted({lesson.label for lesson in each.lessons})[:8]))
        for each in known
    )
    title = "Imported learnings" if rows else "nothing was imported"
    return [TextTable(title=title, columns=("source", "lessons", "about"), rows=rows)]
