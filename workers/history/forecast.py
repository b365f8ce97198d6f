"""What a history means for the next review: the rules that are fixed here and those that are left, and what will be posted.

Each forecast is made by the code that decides in a review, about findings that this history holds.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import fmean

from memory.history.lessons import HistoryLessons, PathClass, informative, path_class
from memory.intervals import wilson
from memory.model import Action, Arm, Cell, Factor, Fate, Finding, PastFinding, Severity
from memory.policy import q_table, review_policy
from memory.policy.learner import Learner
from memory.rewards import PATTERN
from memory.sharing import Learnings
from workers.history.learn import AskedRules
from workers.review.detectors.linters import Ruff
from workers.review.findings import rule_of
from workers.review.project_options import RuffOptions

MAX_VERDICTS = 20
"""How many verdicts are tried, at most, until a decision changes."""

MAX_TRIED = 5
"""Rules that are tried as an example of what feedback changes."""

SAMPLE = 20
"""Changes, the latest ones with findings of a rule, that a forecast averages over: one finding of each."""

# ── What will be posted ────────────────────────────────────────────────────────────────────────────────────────────

Chances = Mapping[str, float]
"""How likely each action is, by its word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the deciding code does with some findings, on average.

    `prior` is the acceptance expected on the first day, `expected` the one with history and feedback. `with_fix` holds the
    chances where the tool's fix passes the tests, None for rules without one.
    """

    prior: float
    expected: float
    chances: Chances
    with_fix: Chances | None = None

    @property
    def action(self) -> Action:
        """What happens most of the time without a tested fix."""
        return usual(self.chances)


def usual(chances: Chances) -> Action:
    return Action(max(chances, key=lambda action: chances[action]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleForecast:
    """A rule that reviews here ask for: how many of its past findings developers fixed on their own, and what comes next.

    `seen` are those whose end shows what developers wanted. `places` are the kinds of files that this is about, empty for all.
    """

    rule: str
    name: str
    places: tuple[PathClass, ...]
    category: str
    severity: Severity
    fixed: int
    seen: int
    forecast: Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFile:
    """A file that is still there, with its findings whose end shows what developers wanted."""

    path: str
    fixed: int
    seen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingRules:
    """What decides about the findings of a repository: the learner, and what it knows before any feedback."""

    learner: Learner
    repository: str
    lessons: HistoryLessons | None
    learnings: Sequence[Learnings] = ()
    slots: int = 1
    options: RuffOptions = field(default_factory=RuffOptions)

    def forecast(self, past: PastFinding) -> Forecast:
        """What a review in the learned arm does with a finding like this one."""
        plain, fixable = self._decided(past, proven=False), past.fixable
        return replace(plain, with_fix=self._decided(past, proven=True).chances if fixable else None)

    def _decided(self, past: PastFinding, *, proven: bool) -> Forecast:
        finding = self._finding(past)
        appraisal = review_policy.appraise(
            self.learner,
            self.repository,
            finding,
            arm=Arm.LEARNED,
            suggestion_proven=proven,
            learnings=self.learnings,
            past=self.lessons.hint(replace(past, rule=rule_of(past))) if self.lessons else None,
        )
        chances = review_policy.posting_chances(
            appraisal.belief, finding, suggestion_proven=proven, slots_left=self.slots, rng=_generator(past.position)
        )
        prior = review_policy.prior_of(finding, suggestion_proven=proven)
        return Forecast(prior=prior, expected=appraisal.belief.mean, chances=chances)

    def _finding(self, past: PastFinding) -> Finding:
        return Finding(
            fingerprint="",
            path=past.path,
            line=past.line,
            end_line=past.line,
            tool=past.tool,
            rule=past.rule,
            category=past.category,
            severity=past.severity,
            message="",
            anchor="",
            own_linter=past.tool == Ruff.name and self.options.checks(past.rule, past.path),
        )

    def verdicts_to_change(self, past: PastFinding, *, accepted: bool) -> int | None:
        """How many verdicts of users with write access change what usually happens to a finding that has none yet."""
        finding, before = self._finding(past), self._decided(past, proven=False)
        state = review_policy.state_of(self.repository, finding)
        prior = review_policy.prior_of(finding, suggestion_proven=False)
        if self.lessons:
            prior = review_policy.lifted(prior, self.lessons.hint(replace(past, rule=rule_of(past))).lift)
        for count in range(1, MAX_VERDICTS + 1):
            cell = Cell(weight=float(count), mean=float(accepted))
            cells = {(level, PATTERN, Factor.ACCEPTANCE): cell for level in state.levels()}
            belief = q_table.believe(state, PATTERN, cells, prior=prior, pseudo_counts=review_policy.PSEUDO_COUNTS)
            chances = review_policy.posting_chances(
                belief, finding, suggestion_proven=False, slots_left=self.slots, rng=_generator(count)
            )
            if usual(chances) is not before.action:
                return count
        return None


def _generator(seed: int) -> random.Random:
    """Numbers of a forecast's own: it takes none from the learner."""
    return random.Random(seed)  # noqa: S311  estimates shares, guards nothing


def rule_forecasts(
    reported: Sequence[PastFinding], deciding: PostingRules, name: Callable[[str], str]
) -> tuple[RuleForecast, ...]:
    """Each rule of the findings that a review would report, in one piece where the same happens in all kinds of files."""
    by_rule: dict[str, dict[PathClass, list[PastFinding]]] = {}
    for each in reported:
        by_rule.setdefault(each.rule, {}).setdefault(path_class(each.path), []).append(each)
    forecasts = list[RuleForecast]()
    for by_place in by_rule.values():
        groups: dict[tuple[Action, Action | None], tuple[list[PathClass], list[PastFinding]]] = {}
        for place, some in by_place.items():
            found = _average([deciding.forecast(each) for each in sample(some)])
            alike = (found.action, usual(found.with_fix) if found.with_fix is not None else None)
            places, together = groups.setdefault(alike, ([], []))
            places.append(place)
            together += some
        for places, some in groups.values():
            forecasts.append(_forecast(some, tuple(places) if len(groups) > 1 else (), deciding, name))
    return tuple(forecasts)


def sample(some: Iterable[PastFinding]) -> list[PastFinding]:
    """One finding of each of the latest changes: a change that brings hundreds counts once."""
    of_change = {each.position: each for each in some}
    return [of_change[position] for position in sorted(of_change)[-SAMPLE:]]


def _forecast(
    some: Sequence[PastFinding], places: tuple[PathClass, ...], deciding: PostingRules, name: Callable[[str], str]
) -> RuleForecast:
    latest = max(some, key=lambda each: each.position)
    fates = [each.fate.addressed for each in some if each.fate.addressed is not None]
    return RuleForecast(
        rule=latest.rule,
        name=name(latest.rule),
        places=places,
        category=latest.category,
        severity=latest.severity,
        fixed=sum(fates),
        seen=len(fates),
        forecast=_average([deciding.forecast(each) for each in sample(some)]),
    )


def _average(forecasts: Sequence[Forecast]) -> Forecast:
    fixes = [each.with_fix for each in forecasts if each.with_fix is not None]
    return Forecast(
        prior=fmean(each.prior for each in forecasts),
        expected=fmean(each.expected for each in forecasts),
        chances=_mean([each.chances for each in forecasts]),
        with_fix=_mean(fixes) if 2 * len(fixes) >= len(forecasts) else None,
    )


def _mean(chances: Sequence[Chances]) -> Chances:
    words = {word for each in chances for word in each}
    return {str(action): fmean(each.get(action, 0.0) for each in chances) for action in Action if action in words}


# ── All of it ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictExample:
    """How many verdicts change what usually happens to a rule's findings."""

    rule: str
    verdicts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryForecast:
    """What was learned from a repository's history, and what it means for the next review.

    `findings` are all that were followed to their end, `reported` those of them that a review now would report, `seen`
    those of these whose end shows what developers wanted, and `fixed` what developers fixed on their own. `enough`: reviews
    use the history. `not_asked` are the rules that reviews do not report anywhere here, the most broken first. `new_rules` is what usually happens to a rule without a past, by severity. `rejections` and
    `acceptances` are an example each of how many verdicts change what happens to a rule.
    """

    findings: int
    reported: int
    seen: int
    fixed: int
    changes: int
    enough: bool
    used: bool
    rules: tuple[RuleForecast, ...]
    files: tuple[HotFile, ...]
    new_rules: Mapping[Severity, Action]
    not_asked: tuple[str, ...]
    rejections: VerdictExample | None
    acceptances: VerdictExample | None

    @property
    def share(self) -> tuple[float, float]:
        """The 95 % interval of the share that developers fixed."""
        return wilson(self.fixed, self.seen)


def history_forecast(
    findings: Sequence[PastFinding], rules: AskedRules, deciding: PostingRules, present: AbstractSet[str], *, used: bool
) -> HistoryForecast:
    """The forecast by findings with a known fate; `present` are the files of today, `used` says that reviews read histories."""
    pairs = [(each.rule, now) for each in findings if (now := rules.reported(each)) is not None]
    asked, reported = {rule for rule, _ in pairs}, [now for _, now in pairs]
    broken, decided = Counter(each.rule for each in findings), informative(reported)
    ranked = sorted(
        rule_forecasts(reported, deciding, rules.name), key=lambda each: (-each.seen, each.rule, each.places)
    )
    return HistoryForecast(
        findings=len(findings),
        reported=len(reported),
        seen=len(decided),
        fixed=sum(bool(each.fate.addressed) for each in decided),
        changes=len({each.position for each in findings}),
        enough=deciding.lessons is not None,
        used=used,
        rules=tuple(ranked),
        files=_hot_files(decided, present),
        not_asked=tuple(rule for rule, _ in broken.most_common() if rule not in asked),
        new_rules={severity: deciding.forecast(_unknown(severity)).action for severity in Severity},
        rejections=_verdicts(ranked, reported, deciding, accepted=False),
        acceptances=_verdicts(ranked, reported, deciding, accepted=True),
    )


def _hot_files(decided: Sequence[PastFinding], present: AbstractSet[str]) -> tuple[HotFile, ...]:
    seen = Counter(each.path for each in decided if each.path in present)
    fixed = Counter(each.path for each in decided if each.fate.addressed)
    files = [HotFile(path=path, fixed=fixed[path], seen=count) for path, count in seen.items()]
    return tuple(sorted(files, key=lambda each: (-each.fixed, -each.seen, each.path)))


def _unknown(severity: Severity) -> PastFinding:
    """A finding of a rule that no history holds."""
    return PastFinding(
        sha="",
        position=0,
        path="new.py",
        line=1,
        tool="ruff",
        rule="NEW",
        category="style",
        severity=severity,
        fixable=False,
        standing=0,
        burst=1,
        fate=Fate.LEFT,
        until=0,
    )


def _verdicts(
    ranked: Sequence[RuleForecast], reported: Sequence[PastFinding], deciding: PostingRules, *, accepted: bool
) -> VerdictExample | None:
    """The rule with most findings that the fewest verdicts change."""
    wanted = (each.rule for each in ranked if (each.forecast.action is Action.INLINE) is not accepted)
    for rule in islice(wanted, MAX_TRIED):
        latest = max((each for each in reported if each.rule == rule), key=lambda each: each.position)
        if (count := deciding.verdicts_to_change(latest, accepted=accepted)) is not None:
            return VerdictExample(rule=rule, verdicts=count)
    return None
