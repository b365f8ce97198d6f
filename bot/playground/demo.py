"""`apprentice demo`: the whole loop on this machine, with a report of each step.

The real web process, worker and sweeper run as `apprentice up` runs them; only GitHub is the playground.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from bot.playground.client import ShownComment, ShownPull
from bot.playground.demo_environment import (
    APPLIED_RULE,
    CONTRIBUTOR,
    FIRST_ISSUE,
    FIRST_REMEDY,
    LIKED_RULE,
    MAINTAINER,
    REJECTED_RULE,
    REJECTION,
    REPOSITORY,
    SECOND_BUG,
    SECOND_ISSUE,
    SECOND_REMEDY,
    DemoEnvironment,
    RepairWithoutMemory,
    demo_environment,
    demo_files,
    repaired_without_memory,
)
from bot.playground.server import directory
from memory.explain import Explanation, explain
from memory.model import Action, Attempt, Sighting
from memory.model.jobs import JobState
from memory.rewards import EXPECTED, EXPECTED_PROOF
from memory.skills import written_out
from workers.messages.markdown import counted

QUIET = frozenset({Action.SUMMARY, Action.HOLD})
LIKES, DISLIKES = "+1", "-1"
ACCEPTED = 202


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRepair:
    """A repair as the maintainer sees it. `seconds` runs from opening the issue to the pull request."""

    pull: ShownPull
    attempts: Sequence[Attempt]
    proven: Attempt
    seconds: float

    @property
    def candidates(self) -> int:
        """Of all attempts together."""
        return sum(attempt.candidates for attempt in self.attempts)


def run(out: Console, *, stay: bool, log: bool) -> int:
    """Run all steps, with the whole log of the processes if `log`. Returns 0; raises DemoFailed as soon as a step fails."""
    started = time.monotonic()
    with demo_environment(out, log=log) as demo:
        first = _first_bug(demo)
        taught = _review(demo)
        _merge(demo, first)
        second, before = _second_bug(demo, first)
        _second_review(demo, taught)
        decided = _why_right(demo, first, second, before)
        _finish_jobs(demo)
        demo.note("whole demo", f"{time.monotonic() - started:.0f} s")
        _summary(demo)
        demo.out.print(q_row(decided))
        if stay:
            _stay(demo)
    return 0


def _first_bug(demo: DemoEnvironment) -> DemoRepair:
    demo.chapter("1  An issue brings a failing test")
    return _fix(demo, "first bug", *FIRST_ISSUE, remedy=FIRST_REMEDY)


def _fix(demo: DemoEnvironment, which: str, title: str, body: str, *, remedy: Collection[str]) -> DemoRepair:
    """Open the issue as the maintainer and wait for the proven draft pull request."""
    began = time.monotonic()
    issue = demo.maintainer.open_issue(REPOSITORY, title, body)
    demo.say(f"{MAINTAINER} opens issue #{issue}: {title}")
    branch = f"apprentice/fix-{issue}-"

    def look() -> ShownPull | None:
        answers = demo.maintainer.comments(REPOSITORY, issue)
        pulls = demo.maintainer.pulls(REPOSITORY)
        found = next((pull for pull in pulls if pull.head_ref.startswith(branch)), None)
        demo.insist(
            found is not None or not answers, f"a pull request fixes #{issue}; instead the answer is: {answers}"
        )
        return found

    pull = demo.wait(f"a pull request that fixes #{issue}", look)
    seconds = time.monotonic() - began
    stored = demo.store.tasks.by_repository(*demo.store.named(REPOSITORY))
    attempts = next(each.attempts for each in stored if each.task.number == issue)
    proven = next(attempt for attempt in attempts if attempt.proof is not None)
    assert proven.proof is not None
    demo.say(f"draft pull request #{pull.number}: {pull.title}")
    demo.out.print(Syntax(proven.patch, "diff", background_color="default"))
    demo.say(
        f"proof: {len(proven.proof.passed_after)} failing test passes, whole suite {proven.proof.suite.passed} passed "
        f"and {proven.proof.suite.failed} failed, run {proven.proof.repeats} times in the sandbox"
    )
    demo.say(_counts(attempts, proven))
    written = proven.patch.splitlines()
    demo.insist(any(line in written for line in remedy), f"the patch is the one that {MAINTAINER} wants")
    demo.insist(pull.draft and pull.author == "apprentice[bot]", "the pull request is a draft by the App")
    fixed = DemoRepair(pull=pull, attempts=attempts, proven=proven, seconds=seconds)
    demo.note(f"{which}: candidates tried", str(fixed.candidates))
    demo.note(f"{which}: issue to proven pull request", f"{seconds:.1f} s")
    return fixed


def _counts(attempts: Sequence[Attempt], proven: Attempt) -> str:
    """What each number of candidates in the log and in the pull request counts."""
    tried, rivals = (sum(getattr(each, name) for each in attempts) for name in ("candidates", "rivals"))
    return (
        f"candidates: {proven.candidates} by {proven.strategy}, which the pull request names; {tried} in "
        f"{counted(len(attempts), 'attempt')}, which the table below names; {rivals} more to look for a rival fix"
    )


def _review(demo: DemoEnvironment) -> Sighting:
    """A pull request gets a review; users apply one suggestion, like one comment and reject a pattern."""
    demo.chapter("2  A pull request gets a review, and users answer")
    number = _propose(demo, "labels", "Print labels")
    comments = _reviewed(demo, number)
    began = _acceptance(demo)
    _apply(demo, number, comments)
    liked = _about(comments, LIKED_RULE)
    for each in liked:
        demo.maintainer.react(REPOSITORY, each.id, LIKES)
        demo.say(f"{MAINTAINER} reacts 👍 to {LIKED_RULE} in line {each.line}")
    _reject(demo, number, comments)
    ended = _acceptance(demo)
    demo.note(f"{REJECTED_RULE}: expected acceptance", f"{began:.2f} → {ended:.2f}")
    demo.insist(ended < began, "rejections lower the expected acceptance")
    return next(s for s in _sightings(demo, number) if s.finding.rule == REJECTED_RULE)


def _propose(demo: DemoEnvironment, branch: str, title: str) -> int:
    """Open a pull request with the sample files that are named like its branch."""
    demo.contributor.push(REPOSITORY, branch, directory(demo_files(branch)), title)
    number = demo.contributor.open_pull(REPOSITORY, head=branch, title=title)
    demo.say(f"{CONTRIBUTOR} opens pull request #{number}: {title}")
    return number


def _reviewed(demo: DemoEnvironment, number: int) -> list[ShownComment]:
    """The bot's inline comments, once its check run is there."""
    sha = demo.maintainer.pull(REPOSITORY, number).head_sha
    checks = partial(demo.maintainer.checks, REPOSITORY, sha)
    check = demo.wait("the check run", lambda: next((each for each in checks() if each.conclusion), None))
    demo.say(f"check run: {check.conclusion}, {check.title}")
    comments = [each for each in demo.maintainer.review_comments(REPOSITORY, number) if not each.reply_to]
    for sighting in _sightings(demo, number):
        where = f"{sighting.finding.path}:{sighting.finding.line}"
        demo.say(f"  {sighting.action.replace('_', ' '):18} {where} {sighting.finding.rule} {sighting.finding.message}")
    return comments


def _sightings(demo: DemoEnvironment, number: int) -> list[Sighting]:
    (key,) = demo.store.named(REPOSITORY)
    return demo.store.posts.sightings(key, number)


def _about(comments: Sequence[ShownComment], rule: str) -> list[ShownComment]:
    return [each for each in comments if f"**{rule}**" in each.body]


def _apply(demo: DemoEnvironment, number: int, comments: Sequence[ShownComment]) -> None:
    chosen = _about(comments, APPLIED_RULE)[0]
    demo.contributor.apply_suggestions(REPOSITORY, number, chosen.id)
    demo.say(f"{CONTRIBUTOR} applies the suggestion for {APPLIED_RULE} in line {chosen.line}")
    demo.wait("feedback from the applied suggestion", lambda: _signals(demo, number, "applied:"))


def _reject(demo: DemoEnvironment, number: int, comments: Sequence[ShownComment]) -> None:
    rejected = _about(comments, REJECTED_RULE)
    demo.insist(bool(rejected), f"{REJECTED_RULE} is posted inline before the maintainer rejects it")
    for each in rejected:
        demo.maintainer.reply(REPOSITORY, number, each.id, REJECTION)
        demo.maintainer.react(REPOSITORY, each.id, DISLIKES)
        demo.say(f"{MAINTAINER} rejects {REJECTED_RULE} in line {each.line} and reacts 👎")
    wanted = 2 * len(rejected) + 1
    demo.wait("feedback from the replies and reactions", lambda: len(_signals(demo, number, "")) > wanted or None)


def _signals(demo: DemoEnvironment, number: int, source: str) -> list[str]:
    """The sources of the feedback on a pull request's comments."""
    decisions = [sighting.decision_id for sighting in _sightings(demo, number)]
    return [s.source for s in demo.store.ledger.live_signals(decisions) if s.source.startswith(source)]


def _acceptance(demo: DemoEnvironment) -> float:
    """The expected acceptance of the rejected rule's next finding in this repository."""
    sightings = [s for n in range(1, 50) for s in _sightings(demo, n) if s.finding.rule == REJECTED_RULE]
    return _explained(demo, sightings[-1].decision_id).options[0].acceptance


def _explained(demo: DemoEnvironment, decision_id: str) -> Explanation:
    explanation = explain(demo.store, demo.learner, decision_id)
    assert explanation is not None, "the id is in the ledger"
    return explanation


def _merge(demo: DemoEnvironment, fixed: DemoRepair) -> None:
    demo.chapter("3  The maintainer merges the fix")
    began = _value(demo, fixed)
    demo.maintainer.merge(REPOSITORY, fixed.pull.number)
    demo.say(f"{MAINTAINER} merges #{fixed.pull.number}")
    ledger = demo.store.ledger
    demo.wait("feedback from the merge", lambda: ledger.live_signals([fixed.proven.decision_id]))
    ended = _value(demo, fixed)
    demo.say(f"acceptance of {fixed.proven.strategy} for this error type: {began:.2f} → {ended:.2f}")
    demo.note(f"Q, acceptance of {fixed.proven.strategy}", f"{began:.2f} → {ended:.2f}")
    demo.insist(ended > began, "a merge raises the value of the strategy that was merged")


def _value(demo: DemoEnvironment, fixed: DemoRepair) -> float:
    """The acceptance factor of the strategy that fixed it, in the state it was chosen in."""
    explanation = _explained(demo, fixed.proven.decision_id)
    return next(option.acceptance for option in explanation.options if option.name == explanation.decision.chosen)


def _second_bug(demo: DemoEnvironment, first: DemoRepair) -> tuple[DemoRepair, str]:
    """The repair, and the text of the file before the bug."""
    demo.chapter("4  A second bug of the same kind")
    path, right, wrong, message = SECOND_BUG
    source = demo.contributor.read(REPOSITORY, path, "main")
    demo.contributor.push(REPOSITORY, "main", {path: source.replace(right, wrong)}, message)
    demo.say(f"{CONTRIBUTOR} pushes to main: {message}")
    fixed = _fix(demo, "second bug", *SECOND_ISSUE, remedy=SECOND_REMEDY)
    demo.say(f"candidates in all attempts: {first.candidates} for the first bug, {fixed.candidates} for this one")
    demo.insist(fixed.candidates < first.candidates, "the second repair tries fewer candidates than the first")
    return fixed, source


def _second_review(demo: DemoEnvironment, rejected: Sighting) -> None:
    demo.chapter("5  The rejected pattern appears again")
    number = _propose(demo, "notices", "Tell recipients where their parcel is")
    _reviewed(demo, number)
    again = [s for s in _sightings(demo, number) if s.finding.rule == REJECTED_RULE]
    demo.insist(bool(again), f"{REJECTED_RULE} is found again")
    demo.insist(all(s.action in QUIET for s in again), f"{REJECTED_RULE} is no longer posted inline")
    demo.note(f"{REJECTED_RULE}: before and after", f"{rejected.action} → {again[0].action}".replace("_", " "))
    _show_why(demo, again[0].decision_id)


def _finish_jobs(demo: DemoEnvironment) -> None:
    """Every webhook is signed, stored once and answered; every job of them ends."""
    demo.playground.drain()
    jobs = demo.store.jobs

    def settled() -> bool:
        counts = jobs.counts()
        return not counts[JobState.READY] and not counts[JobState.LEASED]

    demo.wait("the last jobs", settled)
    answered = [delivery for delivery in demo.playground.world.deliveries if delivery.status_code == ACCEPTED]
    counts = jobs.counts()
    demo.note("webhooks signed, answered 202 and stored", f"{len(answered)} and {jobs.delivery_count()}")
    demo.note("jobs done by Celery workers", f"{counts[JobState.DONE]} (failed: {counts[JobState.FAILED]})")
    demo.insist(not counts[JobState.FAILED] and not counts[JobState.DEAD], "no job failed")


def _why_right(demo: DemoEnvironment, first: DemoRepair, second: DemoRepair, before: str) -> Explanation:
    """What shows that the second fix is right, and the decision that led to it."""
    demo.chapter("6  Why the second fix was right")
    fixed = demo.maintainer.read(REPOSITORY, SECOND_BUG[0], second.pull.head_ref)
    without = repaired_without_memory(_files_with_the_bug(demo, second))
    for line in reasons(first, second, without, is_restored=fixed == before):
        demo.say(line)
    demo.note("second bug, empty memory: candidates tried", str(without.candidates))
    return _show_why(demo, second.proven.decision_id)


def _files_with_the_bug(demo: DemoEnvironment, second: DemoRepair) -> dict[str, str]:
    """The project as the second repair found it, with the failing test of its issue."""
    assert second.proven.proof is not None, "it was proven"
    added = {test.partition("::")[0] for test in second.proven.proof.failed_before}
    files = {
        name: demo.maintainer.read(REPOSITORY, name, second.pull.head_ref)
        for name in directory(demo_files("parcel")).keys() | added
    }
    return files | {SECOND_BUG[0]: demo.maintainer.read(REPOSITORY, SECOND_BUG[0], "main")}


def reasons(first: DemoRepair, second: DemoRepair, without: RepairWithoutMemory, *, is_restored: bool) -> list[str]:
    """What this run shows of the second fix: whether it gives the code from before the bug, how it was found, what it cost."""
    proof, found, taught = second.proven.proof, second.proven.shape, first.proven.shape
    assert proof is not None, "it was proven"
    now, push = f"with the fix {SECOND_BUG[0]} is", f"what it was before {CONTRIBUTOR}'s push"
    right = f"{now}, to the letter, {push}; the repair did not see that text" if is_restored else f"{now} not {push}"
    learned = "the one" if found and found == taught else "not the one"
    edit = "" if found is None else f": {written_out(found)}"
    attempts = ", ".join(f"{each.strategy} ({each.candidates})" for each in second.attempts)
    fewer = "fewer" if second.candidates < first.candidates else "not fewer"
    less = "less" if second.seconds < first.seconds else "not less"
    return [
        right,
        f"edits found that pass its tests: {proof.plausible}; kinds of behaviour among them: {proof.clusters}",
        f"the edit is {learned} that the first fix taught{edit}",
        f"attempts in their order, with their candidates: {attempts}",
        f"{fewer} candidates than for the first bug: {second.candidates} and {first.candidates}",
        f"{less} time than for the first bug: {second.seconds:.1f} s and {first.seconds:.1f} s",
        f"the same bug with an empty memory, once: {counted(without.candidates, 'candidate')} in "
        f"{counted(without.attempts, 'attempt')}, " + without.status.replace("_", " "),
    ]


def _show_why(demo: DemoEnvironment, decision_id: str) -> Explanation:
    explanation = _explained(demo, decision_id)
    demo.say(f"apprentice why {decision_id}")
    demo.out.print(explanation.text(), markup=False, style="dim")
    return explanation


def q_row(why: Explanation) -> Table:
    """The options of a decision with the odds that it was drawn by, and what the table holds of each now."""
    decision = why.decision
    features = (decision.features.get(name) for name in (EXPECTED_PROOF, EXPECTED))
    expected = [f"{each:.2f}" for each in features if isinstance(each, float)]
    then = f"expected of {decision.chosen} then: proof and value {' and '.join(expected)}" if expected else ""
    reward = f"; reward {why.outcome.target:.2f}" if why.outcome else ""
    better = f"; advantage {why.advantage:+.2f}" if why.advantage is not None else ""
    table = Table(
        title=f"the Q-row that decided the second fix: {decision.state.label} ({decision.state.family})",
        caption=f"{then}{reward}{better}; the other columns are of now",
        title_justify="left",
        caption_justify="left",
    )
    for name in ("strategy", "odds then", "proof", "acceptance", "value"):
        table.add_column(name)
    for option in why.options:
        name = f"{'›' if option.name == decision.chosen else ' '} {option.name}"
        proof = "" if option.proof is None else f"{option.proof:.2f}"
        table.add_row(name, f"{option.probability:.3f}", proof, f"{option.acceptance:.2f}", f"{option.value:.2f}")
    return table


def _summary(demo: DemoEnvironment) -> None:
    table = Table("measured in this run", "", title_justify="left")
    for what, value in demo.measured:
        table.add_row(what, value)
    demo.out.print()
    demo.out.print(table)


def _stay(demo: DemoEnvironment) -> None:
    demo.say(f"GitHub stand-in: {demo.playground.url}   web process: {demo.web}   state: {demo.home}")
    demo.say("all processes keep running; Ctrl-C stops them")
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        demo.say("stopping")
