"""`apprentice demo`: the whole loop on this machine, told while it really happens.

The real web process, worker and sweeper run as `apprentice up` runs them; only GitHub is the playground.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from bot.playground import script
from bot.playground.person import Opened, Said
from bot.playground.stage import Stage, set_stage
from memory.explain import explain
from memory.model import Action, Attempt, Factor, Sighting, Task
from memory.policy import ACCEPTANCE_PRIOR, believe
from memory.store import JobState
from workers.comments.marker import marked

QUIET = frozenset({Action.SUMMARY, Action.HOLD})
LIKES, DISLIKES = "+1", "-1"
ACCEPTED = 202


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A repair as its people saw it. `seconds` runs from opening the issue to the pull request."""

    issue: int
    pull: Opened
    task: Task
    proven: Attempt
    seconds: float

    @property
    def candidates(self) -> int:
        """Tried in all attempts together."""
        return sum(attempt.candidates for attempt in self.task.attempts)


def run(out: Console, *, stay: bool) -> int:
    """Tell the story. Returns 0; raises StoryBroken as soon as something in it does not happen."""
    started = time.monotonic()
    with set_stage(out) as stage:
        first = _first_bug(stage)
        taught = _review(stage)
        _merge(stage, first)
        second = _second_bug(stage, first)
        _second_review(stage, taught)
        _explain(stage, second)
        _hand_over(stage)
        stage.note("whole story", f"{time.monotonic() - started:.0f} s")
        _summary(stage)
        if stay:
            _stay(stage)
    return 0


def _first_bug(stage: Stage) -> Fixed:
    stage.chapter("1  An issue brings a failing test")
    fixed = _fix(stage, *script.FIRST_ISSUE, remedy=script.FIRST_REMEDY)
    stage.note("first bug: candidates tried", str(fixed.candidates))
    stage.note("first bug: issue to proven pull request", f"{fixed.seconds:.1f} s")
    return fixed


def _fix(stage: Stage, title: str, body: str, *, remedy: Collection[str]) -> Fixed:
    """Open the issue as the maintainer and wait for the proven draft pull request."""
    began = time.monotonic()
    issue = stage.maintainer.open_issue(script.REPOSITORY, title, body)
    stage.say(f"{script.MAINTAINER} opens issue #{issue}: {title}")
    branch = f"apprentice/fix-{issue}-"

    def look() -> Opened | None:
        answers = stage.maintainer.comments(script.REPOSITORY, issue)
        pulls = stage.maintainer.pulls(script.REPOSITORY)
        found = next((pull for pull in pulls if pull.head_ref.startswith(branch)), None)
        stage.insist(
            found is not None or not answers, f"a pull request fixes #{issue}; instead the answer is: {answers}"
        )
        return found

    pull = stage.wait(f"a pull request that fixes #{issue}", look)
    seconds = time.monotonic() - began
    stored = stage.context.store.tasks.by_repository(script.REPOSITORY)
    task = next(each.task for each in stored if each.task.number == issue)
    proven = next(attempt for attempt in task.attempts if attempt.proof is not None)
    assert proven.proof is not None
    stage.say(f"draft pull request #{pull.number}: {pull.title}")
    stage.out.print(Syntax(proven.patch, "diff", background_color="default"))
    stage.say(
        f"proof: {len(proven.proof.passed_after)} failing test passes, whole suite {proven.proof.suite.passed} passed "
        f"and {proven.proof.suite.failed} failed, run {proven.proof.repeats} times in the sandbox"
    )
    written = proven.patch.splitlines()
    stage.insist(any(line in written for line in remedy), f"the patch is what {script.MAINTAINER} would have written")
    stage.insist(pull.draft and pull.author == "apprentice[bot]", "the pull request is a draft by the App")
    return Fixed(issue=issue, pull=pull, task=task, proven=proven, seconds=seconds)


def _review(stage: Stage) -> Sighting:
    """A pull request is reviewed; people apply one suggestion, like one comment and reject a pattern."""
    stage.chapter("2  A pull request is reviewed, and people answer")
    number = _propose(stage, "labels", "Print labels", script.LABELS)
    said = _reviewed(stage, number)
    began = _acceptance(stage, script.REJECTED_RULE)
    _apply(stage, number, said)
    liked = [each for each in said if _rule(stage, number, each) == script.LIKED_RULE]
    for each in liked:
        stage.maintainer.react(script.REPOSITORY, each.id, LIKES)
        stage.say(f"{script.MAINTAINER} reacts 👍 to {script.LIKED_RULE} in line {each.line}")
    _reject(stage, number, said)
    ended = _acceptance(stage, script.REJECTED_RULE)
    stage.note(f"{script.REJECTED_RULE}: expected acceptance", f"{began:.2f} → {ended:.2f}")
    stage.insist(ended < began, "rejections lower the expected acceptance")
    return next(s for s in _sightings(stage, number) if s.finding.rule == script.REJECTED_RULE)


def _propose(stage: Stage, branch: str, title: str, files: dict[str, str]) -> int:
    stage.contributor.push(script.REPOSITORY, branch, dict(files), title)
    number = stage.contributor.open_pull(script.REPOSITORY, head=branch, title=title)
    stage.say(f"{script.CONTRIBUTOR} opens pull request #{number}: {title}")
    return number


def _reviewed(stage: Stage, number: int) -> list[Said]:
    """The bot's inline comments, once its check run is there."""
    sha = stage.maintainer.pull(script.REPOSITORY, number).head_sha
    checks = stage.wait("the check run", lambda: stage.maintainer.checks(script.REPOSITORY, sha))
    stage.say(f"check run: {checks[0].conclusion}, {checks[0].title}")
    said = [each for each in stage.maintainer.review_comments(script.REPOSITORY, number) if not each.reply_to]
    for sighting in _sightings(stage, number):
        where = f"{sighting.finding.path}:{sighting.finding.line}"
        stage.say(
            f"  {sighting.action.replace('_', ' '):18} {where} {sighting.finding.rule} {sighting.finding.message}"
        )
    return said


def _sightings(stage: Stage, number: int) -> list[Sighting]:
    return stage.context.store.posts.sightings(script.REPOSITORY, number)


def _rule(stage: Stage, number: int, said: Said) -> str:
    rules = {s.finding.fingerprint: s.finding.rule for s in _sightings(stage, number)}
    return rules.get(marked(said.body), "")


def _apply(stage: Stage, number: int, said: Sequence[Said]) -> None:
    chosen = next(each for each in said if _rule(stage, number, each) == script.APPLIED_RULE)
    stage.contributor.apply_suggestions(script.REPOSITORY, number, chosen.id)
    stage.say(f"{script.CONTRIBUTOR} applies the suggestion for {script.APPLIED_RULE} in line {chosen.line}")
    stage.wait("the applied suggestion to be noticed", lambda: _signals(stage, number, "applied:"))


def _reject(stage: Stage, number: int, said: Sequence[Said]) -> None:
    rejected = [each for each in said if _rule(stage, number, each) == script.REJECTED_RULE]
    stage.insist(bool(rejected), f"{script.REJECTED_RULE} is posted inline before anybody rejects it")
    for each in rejected:
        stage.maintainer.reply(script.REPOSITORY, number, each.id, script.REJECTION)
        stage.maintainer.react(script.REPOSITORY, each.id, DISLIKES)
        stage.say(f"{script.MAINTAINER} rejects {script.REJECTED_RULE} in line {each.line} and reacts 👎")
    wanted = 2 * len(rejected) + 1
    stage.wait("the verdicts and reactions to be heard", lambda: len(_signals(stage, number, "")) > wanted or None)


def _signals(stage: Stage, number: int, source: str) -> list[str]:
    """The sources of what was heard about a pull request's comments."""
    decisions = [sighting.decision_id for sighting in _sightings(stage, number)]
    return [s.source for s in stage.context.store.ledger.live_signals(decisions) if s.source.startswith(source)]


def _acceptance(stage: Stage, rule: str) -> float:
    """What the table expects of a rule's next finding in this repository."""
    sightings = [s for n in range(1, 50) for s in _sightings(stage, n) if s.finding.rule == rule]
    explanation = explain(stage.context.store, stage.context.learner, sightings[-1].decision_id)
    assert explanation is not None, "a sighting stands on a decision"
    return explanation.options[0].acceptance


def _merge(stage: Stage, fixed: Fixed) -> None:
    stage.chapter("3  The maintainer merges the fix")
    began = _value(stage, fixed)
    stage.maintainer.merge(script.REPOSITORY, fixed.pull.number)
    stage.say(f"{script.MAINTAINER} merges #{fixed.pull.number}")
    ledger = stage.context.store.ledger
    stage.wait("the merge to be heard", lambda: ledger.live_signals([fixed.proven.decision_id]))
    ended = _value(stage, fixed)
    stage.say(f"acceptance of {fixed.proven.strategy} for this error type: {began:.2f} → {ended:.2f}")
    stage.note(f"Q, acceptance of {fixed.proven.strategy}", f"{began:.2f} → {ended:.2f}")
    stage.insist(ended > began, "a merge raises the value of the strategy that was merged")


def _value(stage: Stage, fixed: Fixed) -> float:
    """The acceptance factor of the strategy that fixed it, in the state it was chosen in."""
    decision = stage.context.store.ledger.decision(fixed.proven.decision_id)
    assert decision is not None, "an attempt stands on a decision"
    cells = stage.context.learner.cells(decision.state)
    return believe(decision.state, decision.chosen, Factor.ACCEPTANCE, cells, prior=ACCEPTANCE_PRIOR).mean


def _second_bug(stage: Stage, first: Fixed) -> Fixed:
    stage.chapter("4  A second bug of the same kind")
    path, right, wrong, message = script.SECOND_BUG
    source = stage.contributor.read(script.REPOSITORY, path, "main")
    stage.contributor.push(script.REPOSITORY, "main", {path: source.replace(right, wrong)}, message)
    stage.say(f"{script.CONTRIBUTOR} pushes to main: {message}")
    fixed = _fix(stage, *script.SECOND_ISSUE, remedy=script.SECOND_REMEDY)
    stage.note("second bug: candidates tried", str(fixed.candidates))
    stage.note("second bug: issue to proven pull request", f"{fixed.seconds:.1f} s")
    stage.say(f"candidates: {first.candidates} for the first bug, {fixed.candidates} for this one")
    stage.insist(fixed.candidates < first.candidates, "the second bug takes fewer candidates than the first")
    return fixed


def _second_review(stage: Stage, rejected: Sighting) -> None:
    stage.chapter("5  The rejected pattern comes again")
    number = _propose(stage, "notices", "Tell recipients where their parcel is", script.NOTICES)
    _reviewed(stage, number)
    again = [s for s in _sightings(stage, number) if s.finding.rule == script.REJECTED_RULE]
    stage.insist(bool(again), f"{script.REJECTED_RULE} is found again")
    stage.insist(all(s.action in QUIET for s in again), f"{script.REJECTED_RULE} is no longer posted inline")
    stage.note(f"{script.REJECTED_RULE}: before and after", f"{rejected.action} → {again[0].action}".replace("_", " "))
    _show_why(stage, again[0].decision_id)


def _hand_over(stage: Stage) -> None:
    """Every webhook was signed, stored once and answered; every job that they implied came to its end."""
    stage.playground.drain()
    inbox = stage.context.store.inbox

    def settled() -> bool:
        counts = inbox.counts()
        return not counts[JobState.READY] and not counts[JobState.LEASED]

    stage.wait("the last jobs", settled)
    answered = [delivery for delivery in stage.playground.world.deliveries if delivery.status_code == ACCEPTED]
    counts = inbox.counts()
    stage.note("webhooks signed, answered 202 and stored", f"{len(answered)} and {inbox.delivery_count()}")
    stage.note("jobs done by Celery workers", f"{counts[JobState.DONE]} (failed: {counts[JobState.FAILED]})")
    stage.insist(not counts[JobState.FAILED] and not counts[JobState.DEAD], "no job failed")


def _explain(stage: Stage, second: Fixed) -> None:
    stage.chapter("6  Why the second bug went faster")
    _show_why(stage, second.proven.decision_id)


def _show_why(stage: Stage, decision_id: str) -> None:
    explanation = explain(stage.context.store, stage.context.learner, decision_id)
    assert explanation is not None, "the id comes from the ledger"
    stage.say(f"apprentice why {decision_id}")
    stage.out.print(explanation.text(), markup=False, style="dim")


def _summary(stage: Stage) -> None:
    table = Table("measured in this run", "", title_justify="left")
    for what, value in stage.measured:
        table.add_row(what, value)
    stage.out.print()
    stage.out.print(table)


def _stay(stage: Stage) -> None:
    stage.say(
        f"GitHub stand-in: {stage.playground.url}   web process: {stage.web}   state: {stage.context.settings.home}"
    )
    stage.say("everything keeps running; Ctrl-C ends it")
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        stage.say("ending")
