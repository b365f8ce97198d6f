"""Reads a repository's past and keeps what became of each finding; resumes where it stopped.

And which of these findings a review of the repository would report now: by its configuration, as ruff itself reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.history.lessons import lessons
from memory.model import PastFinding
from memory.store import Store
from memory.store.documents import HistoryPosition
from workers.configuration.reading import configuration_of, read_configuration
from workers.configuration.schema import NOTHING_CHOSEN, PATH, RepositoryConfiguration
from workers.history.changes import Blobs, changes, positions, read
from workers.history.outcomes import HORIZON, OutcomeTracker
from workers.ports import Sandbox
from workers.review.detectors.detector import Category, Detector
from workers.review.detectors.linters import Bandit, Ruff, rule_codes
from workers.review.detectors.rules import BANDIT_SKIP, SYNTAX_ERROR, is_of, is_wanted, ruff_equivalent
from workers.review.project_options import RUFF_FILES, RuffOptions, ruff_options
from workers.work_tree import local_commits

PATHS = ("*.py", "*.pyi")

READING = f"3, horizon {HORIZON}, ruff {version('ruff')}, bandit {version('bandit')}"
"""How a past is read; one that was read otherwise is read again."""

Progress = Callable[[int, int], None]
"""Gets the number of changes read, and of all."""


def settled(store: Store, repository: str) -> list[PastFinding]:
    """The findings of changes so old that all their fates are known: of younger ones only the fixes are."""
    reached = store.past.position(repository)
    return [each for each in store.past.of(repository) if reached and each.position < reached.position - HORIZON]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedHistory:
    """How much was read this time: changes of the branch, and the findings whose fate became known.

    `resumed`: an earlier reading was continued.
    """

    changes: int
    findings: int
    resumed: bool


def learn(
    directory: Path,
    repository: str,
    *,
    store: Store,
    sandbox: Sandbox,
    tip: str = "HEAD",
    most: int,
    detectors: Sequence[Detector] = (),
    progress: Progress = lambda _done, _of: None,
) -> LearnedHistory:
    """Read the last `most` changes of the branch `tip` in the git directory, or of these those since it was last read.

    Where older ones are wanted than were read then, all are read again. A finding is followed for a horizon, and known ones
    must be known before others are new: after a break reading begins two horizons earlier, and the first of them only warms
    up. `detectors` read instead of all of ruff and bandit. Raises BadInput where `tip` names no commit.
    """
    (tip,) = local_commits(directory, (tip,))
    places = positions(directory, tip)
    last = len(places) - 1
    reached = store.past.position(repository)
    before = max(last - most, -1)
    if reached and (reached.reading != READING or reached.sha not in places or reached.after > before):
        store.past.forget(repository)
        reached = None
    known, after = (reached.position, reached.after) if reached else (before, before)
    first = max(known - 2 * HORIZON, 0) if reached else known + 1
    keep_from = known - HORIZON if reached else 0
    shas = list(places)
    fates, findings = OutcomeTracker(horizon=HORIZON), 0
    with Blobs(directory) as blobs:
        readers = detectors or (Ruff(sandbox, everything=True), Bandit(sandbox, everything=True))
        past = changes(directory, tip, places, after=shas[first - 1] if first else "", paths=PATHS)
        for group in read(past if known < last else (), blobs, readers):
            ended = [each for change in group for each in fates.follow(change) if each.position >= keep_from]
            here = group[-1].past
            if here.position <= known:
                continue
            so_far = HistoryPosition(reading=READING, sha=here.sha, position=here.position, after=after)
            store.past.add(repository, ended, so_far)
            findings += len(ended)
            progress(here.position - first, last - first)
    store.past.add(repository, (), HistoryPosition(reading=READING, sha=tip, position=last, after=after))
    with Blobs(directory) as blobs:
        rules = asked_rules(partial(blobs.read, tip), sandbox)
    learned = lessons(settled(store, repository), lambda each: rules.reported(each) is not None)
    store.past.conclude(repository, learned)
    progress(last - first, last - first)
    return LearnedHistory(changes=last - known, findings=findings, resumed=reached is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRules:
    """The rules of ruff that reviews of a repository ask for, the options that say so, and the names of all rules by code.

    `configuration` is the repository's own.
    """

    asked: AbstractSet[str]
    options: RuffOptions
    names: Mapping[str, str]
    configuration: RepositoryConfiguration = NOTHING_CHOSEN

    def name(self, rule: str) -> str:
        """The rule in words; empty where ruff has none."""
        return self.names.get(ruff_equivalent(rule) if rule not in self.names else rule, "")

    def reported(self, past: PastFinding) -> PastFinding | None:
        """The finding as a review now would report it; None where it would not.

        Bandit reports the holes that a repository does not ask ruff for.
        """
        rule, tool = past.rule, past.tool
        if tool == "ruff" and rule not in self.asked and rule != SYNTAX_ERROR:
            if not is_of(rule, "S"):
                return None
            rule, tool = f"B{rule[1:]}", "bandit"
        ignored = tool == "ruff" and self.options.is_ignored(rule, past.path)
        if (
            ignored
            or (tool == "bandit" and rule in BANDIT_SKIP)
            or not is_wanted(past.rule, past.path, Category(past.category))
        ):
            return None
        return self.configuration.kept(replace(past, rule=rule, tool=tool))


def asked_rules(read: Callable[[str], bytes | None], sandbox: Sandbox) -> AskedRules:
    """Those of the configuration that `read` gives, by the names of its files; raises DetectorFailed."""
    with TemporaryDirectory(prefix="apprentice-rules-") as folder:
        for name in RUFF_FILES:
            if (content := read(name)) is not None:
                (Path(folder) / name).write_bytes(content)
        options = ruff_options(Path(folder), partial(rule_codes, sandbox))
    asked, names = Ruff(sandbox, options).rules(), Ruff(sandbox, everything=True).rules()
    configuration = configuration_of([read_configuration(read(PATH) or b"")])
    return AskedRules(asked=asked.keys(), options=options, names=names | asked, configuration=configuration)
