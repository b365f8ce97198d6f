"""Provides the environment of a repository's tests: tries its plans, mends what fails, and remembers what worked."""

import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from string import ascii_letters

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from memory.model import Plan, PlanOutcome
from memory.store.database import dump, load
from workers.configuration.schema import ANY_ENVIRONMENT, EnvironmentChoices
from workers.environments.building import Builder, BuildFailed, BuiltProject
from workers.environments.editable import build_inputs, dependencies, own_projects
from workers.environments.fetching import path_of
from workers.environments.interpreters import chosen
from workers.environments.locking import Wanted, usable_for_tests
from workers.environments.mending import PlanFailure, Stage, as_of, build_step, failure_of_run, mended
from workers.environments.metadata import declared, name_of
from workers.environments.plan_memory import PlanMemory
from workers.environments.plans import plans_for
from workers.environments.projects import needs_submodule, project_of
from workers.environments.store import EnvironmentStore
from workers.environments.tree_files import TreeFiles
from workers.environments.uv_command import NoIndex, indexes
from workers.errors import BadInput, CannotRun
from workers.git_command import run_git
from workers.ports import Limits, Sandbox
from workers.sandbox.project import NO_OWN_OPTIONS, Project, discover
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.run_tests import run_tests

SECONDS_FOR_ANOTHER_PLAN = 300.0
"""The seconds after which no further plan is begun, and no plan is mended any more."""

TRIAL_SECONDS, LONGER_TRIAL_SECONDS, TRIAL_OUTPUT_KB = 45.0, 120.0, 64 << 10
"""What the tests get to show what a plan is worth, the longer where none ended; a slower suite is judged by those that ran."""

GOOD = 0.95
"""The share of passing tests from which no other plan is tried."""

MAX_PROJECTS = 50
"""Of one tree that an environment holds."""

OURS = Path(sys.executable).absolute()


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and the repository or work tree on this machine that has it."""

    repository: Path
    sha: str = "HEAD"

    def day_and_version(self) -> tuple[str, str]:
        """The day of the commit, and the version that the nearest tag before it names; empty where git knows none."""
        wanted = "--format=%cs %(describe:tags=true,abbrev=0,match=*[0-9].[0-9]*,exclude=*.x)"
        try:
            shown = run_git("log", "-1", wanted, self.sha, at=self.repository).decode().strip()
        except CannotRun:
            return "", ""
        day, _, tag = shown.partition(" ")
        try:
            return day, str(Version(tag.lstrip(f"{ascii_letters}/_-"))) if tag else ""
        except InvalidVersion:  # such as backport-2.0-fixes, or a git that cannot describe
            return day, ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where a repository's tests run: paths on this machine. `generated` holds files that its build adds beside the sources."""

    python: str
    version: str
    plan: Plan
    generated: tuple[str, ...] = ()
    installed: Mapping[str, str]
    worth: float = 0.0

    def described(self) -> str:
        """The interpreter in a few words."""
        if self.python == str(OURS):
            return f"Apprentice's own Python {self.version}, because nothing has to be installed"
        return f"Python {self.version} with {len(self.installed)} packages in an environment of their own"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Makes environments for one home. `clock` dates the outcomes of plans, which `memory` keeps for a repository.

    `choices` are of the repository's own file.
    """

    sandbox: Sandbox
    home: Path
    limits: Limits
    progress: Callable[[str], None]
    memory: PlanMemory
    clock: Callable[[], datetime]
    commit: Commit | None = None
    choices: EnvironmentChoices = ANY_ENVIRONMENT
    _printed: set[str] = field(default_factory=set)
    _announced: set[str] = field(default_factory=set)

    def project_in(
        self, tree: Path, changed: Collection[str] = (), test_command: str | None = None, copy_of: Path | None = None
    ) -> Project:
        """The project in our own copy `tree`, ready to be tested: with its environment, and with the files that a build adds.

        A `test_command` takes the place of the plan's. Raises CannotRun with one line when no plan can be built, BadInput for
        a project that cannot be tested.
        """
        discover(tree, python=None, test_command=test_command, copy_of=copy_of)
        found = self.environment(tree, changed)
        for name, content in _generated(found, tree).items():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        self.progress(f"tests run on {found.described()}; environment from: {found.plan.source}")
        for line in (*(each for each in found.plan.mends if each not in self._announced), *found.plan.notes):
            self.progress(line)
        return _project(tree, found, test_command, copy_of)

    def environment(self, tree: Path, changed: Collection[str] = ()) -> Environment:
        """The best environment that a plan gives; one that was made before is found without a run."""
        started, best, trouble = time.monotonic(), None, None
        for plan in self.memory.ordered(plans_for(tree, changed, self.choices)):
            if (known := self._known(plan, tree)) is not None:
                return known
            if (best or trouble) and time.monotonic() - started > SECONDS_FOR_ANOTHER_PLAN:
                break
            try:
                found, is_good = self._tried(plan, tree)
            except NoIndex:
                if best is None:
                    raise
                break
            except CannotRun as reason:
                self.progress(f"{plan.source}: {reason}")
                trouble = trouble or reason
                continue
            best = max(best or found, found, key=lambda each: each.worth)
            if is_good:
                break
        if best is None:
            raise trouble or CannotRun("no plan for an environment: set APPRENTICE_PYTHON to one that has the packages")
        return best

    def _tried(self, read: Plan, tree: Path) -> tuple[Environment, bool]:
        """The best that a plan gives, mended or not, and whether that is good enough. Raises CannotRun if it cannot be built."""
        best: tuple[Environment, PlanOutcome] | None = None
        plan, started, trouble, failure = read, time.monotonic(), CannotRun("no environment was made"), None
        tried = [read]
        while True:
            try:
                made = self._made(plan, tree)
                if plan.before and best and not best[0].plan.before and made.python == best[0].python:
                    break  # the same packages
                report = self._run(tree, made)
            except CannotRun as reason:
                if isinstance(reason, NoIndex) and best is None:
                    raise
                trouble = reason if failure is None else trouble
                failure = _why_unmade(reason)
            else:
                outcome = self._outcome(read, made, report, time.monotonic() - started)
                if best is None or outcome.worth >= best[1].worth:
                    best = replace(made, worth=outcome.worth), outcome
                failure = failure_of_run(report)
            better = next((each for each in self._better(plan, failure, best, tree) if each not in tried), None)
            if better is None or time.monotonic() - started > SECONDS_FOR_ANOTHER_PLAN:
                break
            tried.append(better)
            self.progress(f"environment: {better.mends[-1]}")
            self._announced.update(better.mends)
            plan = better
        if best is None:
            seconds, now, why = time.monotonic() - started, self.clock(), without_places(str(trouble), self.home)
            self.memory.record(PlanOutcome(read=read, plan=plan, built=False, trouble=why, seconds=seconds, at=now))
            raise trouble
        found, outcome = best
        self._say_what_is_not_kept(plan, found.plan)
        self.memory.record(outcome)
        for each in (read, found.plan):
            EnvironmentStore(self.home).remember(_key(each, tree), dump(found))
        collects = outcome.collected > 0 and not outcome.uncollected
        return found, outcome.worth >= GOOD or collects or _is_of_the_checkout(failure)

    def _say_what_is_not_kept(self, tried: Plan, kept: Plan) -> None:
        for mend in (each for each in tried.mends if each not in kept.mends):
            self.progress(f"environment: not kept: {mend}")

    def _better(
        self, plan: Plan, failure: PlanFailure | None, best: tuple[Environment, PlanOutcome] | None, tree: Path
    ) -> Iterator[Plan]:
        """The plans to try after a failure: mended or, where that is at its end and too little ran, as of the commit's day."""
        better = mended(plan, failure, tree) if failure else None
        if better is not None:
            yield better
        elif _is_of_the_checkout(failure):
            return
        elif best is not None and (best[1].worth < GOOD or best[1].uncollected) and self._past[0]:
            yield from as_of(best[0].plan, self._past[0], self.clock().date().isoformat())

    @cached_property
    def _past(self) -> tuple[str, str]:
        return self.commit.day_and_version() if self.commit else ("", "")

    def _made(self, plan: Plan, tree: Path) -> Environment:
        """The environment of a plan. Raises CannotRun with one line."""
        if _needs_nothing(plan):
            version = ".".join(map(str, sys.version_info[:3]))
            return Environment(python=str(OURS), version=version, plan=plan, installed={})
        interpreter = chosen(plan.python, plan.minors)
        builder = Builder(
            sandbox=self.sandbox,
            store=EnvironmentStore(self.home),
            interpreter=interpreter,
            given=indexes(),
            progress=self.progress,
            printed=self._printed,
        )
        python, built, installed = self._installed(plan, tree, builder)
        siblings = tuple(each for each in built if each != plan.project)
        return Environment(
            python=str(python),
            version=interpreter.version,
            plan=replace(plan, siblings=siblings),
            generated=tuple(str(each.generated) for each in built.values()),
            installed=installed,
        )

    def _installed(
        self, plan: Plan, tree: Path, builder: Builder
    ) -> tuple[Path, Mapping[str, BuiltProject], Mapping[str, str]]:
        """The python with all that a plan wants, the projects of the tree that it holds by directory, and its versions by name."""
        directories, built = _directories(plan), dict[str, BuiltProject]()
        own, requirements = own_projects(TreeFiles(tree), directories), [*map(Requirement, plan.requirements)]
        while directories and len(built) < MAX_PROJECTS:
            each = directories.pop(0)
            built[each] = builder.project(tree, each, frozenset(own), self._past[1])
            extras = {extra for line in requirements if own.get(name_of(line)) == each for extra in line.extras}
            extras.update(plan.extras if each == plan.project else ())
            required = dependencies(path_of(built[each].wheel.file.url), sorted(extras), builder.interpreter)
            requirements += map(Requirement, required)
            named = (own[name] for name in map(name_of, requirements) if name in own)
            directories = [name for name in dict.fromkeys((*directories, *named)) if name not in built]
        markers = {name: str(value) for name, value in builder.interpreter.markers().items()}
        wanted = Wanted(
            requirements=usable_for_tests(
                (str(line) for line in requirements if name_of(line) not in own), builder.say_once, markers
            ),
            constraints=usable_for_tests(plan.constraints, builder.say_once, markers),
            own=frozenset(own),
            before=plan.before,
        )
        python, installed = builder.environment(wanted, [each.wheel for each in built.values()])
        return python, built, installed

    def _run(self, tree: Path, made: Environment) -> TestReport:
        if made.installed:
            self.progress("trying the tests in the new environment")
        project, added = _project(tree, made), _generated(made, tree)
        for seconds in (TRIAL_SECONDS, LONGER_TRIAL_SECONDS):
            limits = replace(self.limits.within(seconds), output_kb=TRIAL_OUTPUT_KB)
            report = run_tests(self.sandbox, project, overlay=added, limits=limits).report
            if report.results or not report.out_of_time:
                break
        files = TreeFiles(tree)
        found = tuple(each for each in report.results if not needs_submodule(each, files))  # no environment has it
        return report if found == report.results else replace(report, results=found, trouble="")

    def _known(self, plan: Plan, tree: Path) -> Environment | None:
        """What was made of a plan before, if nothing that decides it has changed since."""
        store = EnvironmentStore(self.home)
        kept = store.recalled(_key(plan, tree))
        if kept is None:
            return None
        found = load(Environment, kept)
        if store.recalled(_key(found.plan, tree)) is None:
            return None  # a project that this one requires has changed
        places = [Path(found.python).parent.parent, *(Path(each).parent for each in found.generated)]
        return found if found.python == str(OURS) or all(map(store.is_intact, places)) else None

    def _outcome(self, read: Plan, made: Environment, report: TestReport, seconds: float) -> PlanOutcome:
        broken = sum(each.outcome is TestOutcome.ERROR and "::" not in each.id for each in report.results)
        return PlanOutcome(
            read=read,
            plan=made.plan,
            built=True,
            python=made.version,
            collected=len(report.results) - broken,
            uncollected=broken,
            passed=len(report.passing()),
            failed=len(report.failing()) - broken,
            trouble=without_places(report.trouble, self.home),
            seconds=seconds,
            at=self.clock(),
        )


def _is_of_the_checkout(failure: PlanFailure | None) -> bool:
    """Whether tests lack at most what no other packages give them: a submodule, which is no failure, or what a build step makes."""
    return failure is None or (failure.stage is Stage.COLLECT and bool(build_step(failure.text)))


def _why_unmade(reason: CannotRun) -> PlanFailure:
    if isinstance(reason, BuildFailed):
        return PlanFailure(stage=Stage.BUILD, text=str(reason), subject=reason.distribution)
    return PlanFailure(stage=Stage.RESOLVE, text=str(reason))


def without_places(text: str, home: Path) -> str:
    """A text without the directories of files on this machine: maintainers read it."""
    for place in (home, Path(tempfile.gettempdir())):
        text = re.sub(rf"{re.escape(str(place))}/(?:[\w.+-]+/)*", "", text)
    return text


def without_environment(tree: Path, changed: Collection[str] = ()) -> str:
    """Why the tests must not run on our own interpreter; empty where the project allows its Python."""
    files, own = TreeFiles(tree), ".".join(map(str, sys.version_info[:3]))
    wanted = declared(files, project_of(files, changed)[0]).python
    fits = SpecifierSet(wanted).contains(own)
    return "" if fits else f"the project asks for Python {wanted}, and Apprentice's own is {own}"


def _directories(plan: Plan) -> list[str]:
    return [each for each in (plan.project, *plan.siblings) if each is not None]


def _key(plan: Plan, tree: Path) -> str:
    bare = dump(replace(plan, source="", notes=(), mends=()))
    return sha256("\0".join([bare, *(build_inputs(tree, each) for each in _directories(plan))]).encode()).hexdigest()


def _needs_nothing(plan: Plan) -> bool:
    """Whether our own interpreter with its pytest does: nothing is installed, and no other Python is named."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    fits = (not plan.minors or own in plan.minors) and SpecifierSet(plan.python).contains(own)
    return plan.project is None and fits and {name_of(Requirement(line)) for line in plan.requirements} <= {"pytest"}


def _project(tree: Path, found: Environment, test_command: str | None = None, copy_of: Path | None = None) -> Project:
    """The project with the command and directory of its plan, or with a command that a user gave for the whole tree."""
    given = partial(discover, tree, python=Path(found.python), copy_of=copy_of, variables=found.plan.variables)
    if test_command is not None:
        return given(test_command=test_command)
    command, left_out = found.plan.test_command, found.plan.test_command[-len(NO_OWN_OPTIONS) :] == NO_OWN_OPTIONS
    try:
        project = given(test_command=shlex.join(command) or None, directory=found.plan.directory)
        return replace(project, without_own_options=left_out)
    except BadInput:
        return given(test_command=None, directory=found.plan.directory)


def _generated(found: Environment, tree: Path) -> dict[str, bytes]:
    """The files that its build adds to a tree, by their names in it: none of the tree's, and none through a link in it."""
    added: dict[str, bytes] = {}
    for directory in map(Path, found.generated):
        for file in (path for path in sorted(directory.rglob("*")) if path.is_file()):
            target = tree / (name := file.relative_to(directory).as_posix())
            above = [part for part in target.parents if part.is_relative_to(tree)]
            if not (target.exists() or target.is_symlink() or any(part.is_symlink() for part in above)):
                added[name] = file.read_bytes()
    return added
