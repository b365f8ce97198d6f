"""Changes a plan by what failed under it."""

import difflib
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from memory.model import Plan
from workers.environments.metadata import Declared, declared, name_of, requirement
from workers.environments.tree_files import TreeFiles, well_known
from workers.sandbox.project import NO_OWN_OPTIONS
from workers.sandbox.report import TestOutcome, TestReport, TestResult

MAX_MENDS = 8
ALIKE = 0.8
"""A missing module whose name is so like one of the project's own, or of Python's, is a slip to be repaired."""

READS_YIELD_TESTS = "pytest<8.4"

FIRST_DAY = "2020-12-31"
"""No packages are chosen as of an earlier day: runs of tests need pytest 6, which came in July of that year."""

_BUILD_STEP = re.compile(
    r"\b(?:[Rr]un|[Ee]xecute|[Uu]se) [`'\"]((?:python3? )?(?:\./)?setup\.py [a-z_]{1,30}|make(?: [a-z_-]{1,30})?|"
    r"npm (?:run )?[a-z:-]{1,30}|pip install -e \.)[`'\"]"
)


def build_step(text: str) -> str:
    """The step, named in quotes by an error, which makes what a fresh checkout lacks; empty where none is named."""
    found = _BUILD_STEP.search(text)
    return found[1] if found else ""


class Stage(StrEnum):
    """Where a plan failed: no set of versions fits, a distribution could not be built, or tests could not run."""

    RESOLVE = "resolve"
    BUILD = "build"
    COLLECT = "collect"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFailure:
    """What failed under a plan. `text` is what the resolver, the build or pytest wrote.

    `subject` is the distribution at fault, empty where it is not known or is the project itself.
    """

    stage: Stage
    text: str
    subject: str = ""


def failure_of_run(report: TestReport) -> PlanFailure | None:
    """What a run of tests says against its environment; None where nothing failed."""
    failing = sorted(report.failing(), key=lambda result: result.outcome is not TestOutcome.ERROR)
    lines = dict.fromkeys(f"{result.error_type}: {result.message}" for result in failing if not _is_own_syntax(result))
    text = "\n".join(line for line in (report.trouble, *lines) if line)
    return PlanFailure(stage=Stage.COLLECT, text=text) if text else None


def _is_own_syntax(result: TestResult) -> bool:
    """Whether a function raised the SyntaxError of a language of its own: what Python cannot read ends in a module."""
    return result.error_type == "SyntaxError" and any(frame.function != "<module>" for frame in result.frames[-1:])


def mended(plan: Plan, failure: PlanFailure, tree: Path) -> Plan | None:
    """The plan changed so that the failure may not come again, with the change in `mends`; None where nothing is known.

    A mend is never made twice, so calling this again and again ends.
    """
    case = _Case(plan, failure, TreeFiles(tree))
    rules = _OF_TESTS if failure.stage is Stage.COLLECT else _OF_PACKAGES
    found = (rule(case) for rule in rules) if len(plan.mends) < MAX_MENDS else iter(())
    return next((each for each in found if each is not None and set(each.mends) > set(plan.mends)), None)


def as_of(plan: Plan, day: str, today: str) -> tuple[Plan, ...]:
    """The plan with packages of a day such as the commit's, when its tests most likely passed: on a Python of that day, on its own.

    No day before FIRST_DAY. Each Python 3.x since 3.8 came in the October of its year, 2011 + x. Nothing where the plan is
    of a day already, nor for a commit of `today`, whose packages are the same.
    """
    why = "the day of the commit" if day >= FIRST_DAY else "as an older pytest cannot be used"
    day = max(day, FIRST_DAY)
    there = tuple(each for each in plan.minors if f"{2011 + _number(each)[1]}-10" < day)
    mend = f"chose packages as of {day}, {why}"
    oldest = tuple(sorted(plan.minors, key=_number))
    pythons = dict.fromkeys((there or oldest, plan.minors))
    dated = (replace(plan, before=day, minors=minors, mends=(*plan.mends, mend)) for minors in pythons)
    return () if plan.before or day >= today else tuple(dated)


@dataclass(frozen=True, slots=True)
class _Case:
    plan: Plan
    failure: PlanFailure
    files: TreeFiles

    @property
    def declared(self) -> Declared:
        return declared(self.files, self.plan.project or self.plan.directory)

    def has(self, distribution: str) -> bool:
        """Whether a requirement was asked for, now or before a mend."""
        name = canonicalize_name(re.split(r"[<>=!~\[; ]", distribution)[0])
        asked = name in map(name_of, _parsed(self.plan.requirements))
        return asked or any(mend.partition(":")[0].endswith(f" {distribution}") for mend in self.plan.mends)

    def changed(self, mend: str, **fields: Any) -> Plan:  # noqa: ANN401 - the fields of a plan
        return replace(self.plan, mends=(*self.plan.mends, mend), **fields)

    def own_modules(self) -> set[str]:
        """The names that can be imported from the tree."""
        roots = {".", self.plan.project or ".", self.plan.directory}
        places = (posixpath.join(root, below) for root in roots for below in ("", "src", "tests", "lib"))
        return {name.partition(".")[0] for place in places for name in self.files.names(place)}


def _parsed(lines: tuple[str, ...]) -> list[Requirement]:
    return [each for each in map(requirement, lines) if each is not None]


# ── Tests that cannot be collected or run ──


def _add_missing(case: _Case) -> Plan | None:
    """All distributions whose lack the run shows, at once: each new environment costs time."""
    for why, distribution in _missing(case):
        if distribution and not case.has(distribution):
            case = replace(case, plan=_with_distribution(case, distribution, why))
    return case.plan


def _missing(case: _Case) -> Iterator[tuple[str, str]]:
    """What is missing, and the distribution that should have it; empty where none is known."""
    text, own = case.failure.text, case.own_modules()
    tables = {name: well_known(name) for name in ("modules", "fixtures", "marks", "options", "went", "came")}
    for module in dict.fromkeys(re.findall(r"No module named '?([\w.]+)'?", text)):
        top, inside, _ = module.partition(".")
        if inside and top in own and module not in tables["modules"]:
            continue  # the project's own package lacks it, and no distribution has it
        slip = difflib.get_close_matches(top, own | set(sys.stdlib_module_names), n=1, cutoff=ALIKE)
        distribution = tables["modules"].get(module, tables["modules"].get(top))
        if distribution is not None or not (slip or top.startswith("_") or top in tables["went"]):
            yield f"no module {module}", top if distribution is None else distribution
    for kind, pattern in (
        ("fixtures", r"fixture '(\w+)' not found"),
        ("marks", r"'(\w+)' not found in `markers`|Unknown pytest\.mark\.(\w+)"),
    ):
        for groups in re.findall(pattern, text):
            name = "".join(groups)
            yield f"no {kind.removesuffix('s')} {name}", tables[kind].get(name, "")
    if "async def functions are not natively supported" in text:
        yield "tests are coroutines", "pytest-asyncio"
    for name in _unknown_options(text):
        yield f"no option {name}", _longest(tables["options"], name)


def _unknown_options(text: str) -> list[str]:
    """The options and settings that pytest does not know, without dashes and values."""
    lines = re.findall(r"unrecognized arguments: (.+)", text)
    options = [_plain(word) for line in lines for word in line.split() if word.startswith("-")]
    return options + re.findall(r"Unknown config option: (\w+)", text)


def _plain(option: str) -> str:
    return re.split(r"[=\d]", option.lstrip("-"))[0]


def _longest(options: Mapping[str, str], name: str) -> str:
    plain = name.lower().replace("_", "-")
    fitting = [each for each in options if plain == each or (len(each) > 1 and plain.startswith(each))]
    return options[max(fitting, key=len)] if fitting else ""


def _with_distribution(case: _Case, distribution: str, why: str) -> Plan:
    """The extra or the group that holds a distribution, where the project has one; otherwise the distribution alone."""
    plan, known, name = case.plan, case.declared, canonicalize_name(distribution)

    def holder(lists: Mapping[str, tuple[str, ...]], taken: tuple[str, ...]) -> str:
        free = [each for each in lists if each not in taken]
        return next((each for each in free if name in map(name_of, _parsed(lists[each]))), "")

    if plan.project is not None and (extra := holder(known.extras, plan.extras)):
        return case.changed(f"added the extra {extra} for {distribution}: {why}", extras=(*plan.extras, extra))
    if group := holder(known.groups, plan.groups):
        lines = (*plan.requirements, *(line for line in known.groups[group] if line not in plan.requirements))
        mend = f"added the group {group} for {distribution}: {why}"
        return case.changed(mend, requirements=lines, groups=(*plan.groups, group))
    return case.changed(f"added {distribution}: {why}", requirements=(*plan.requirements, distribution))


_NEW_SYNTAX = re.compile(
    r"^SyntaxError:|^TypeError: unsupported operand type\(s\) for \|: '(?:type|ABCMeta|NoneType|_\w+)'|"
    r"^TypeError: '(?:type|ABCMeta|_\w+)' object is not subscriptable",
    re.MULTILINE,
)


def _fit_python(case: _Case) -> Plan | None:
    """A Python whose standard library has what is missing; a newer one, once, for syntax that this one does not know."""
    text, current = case.failure.text, case.plan.minors[:1]
    for module in re.findall(r"No module named '?([\w.]+)'?", text):
        if since := well_known("came").get(module):
            return _on_python(case, lambda minor: minor >= _number(since), f"Python {since} or newer: it has {module}")
        if until := well_known("went").get(module):
            return _on_python(case, lambda minor: minor < _number(until), f"a Python before {until}: it has {module}")
    if re.search(r"cannot import name '\w+' from 'collections'|module 'collections' has no attribute", text):
        return _on_python(case, lambda minor: minor < (3, 10), "a Python before 3.10: collections has all names")
    if current and _NEW_SYNTAX.search(text):
        newer = (3, 12) if _number(current[0]) < (3, 12) else (3, 13)
        return _on_python(case, lambda minor: minor >= newer, "a newer Python: it may know this syntax")
    return None


def _on_python(case: _Case, fits: Callable[[tuple[int, ...]], bool], why: str) -> Plan | None:
    """The plan on those Pythons alone; None where it is on one of them, or there is none."""
    minors = tuple(minor for minor in case.plan.minors if fits(_number(minor)))
    return case.changed(f"chose {why}", minors=minors) if minors and minors[0] != case.plan.minors[0] else None


def _number(minor: str) -> tuple[int, ...]:
    return tuple(int(part) for part in minor.split("."))


def _without(lines: tuple[str, ...], distribution: str) -> tuple[str, ...]:
    name = canonicalize_name(distribution)
    return tuple(line for line in lines if (found := requirement(line)) is None or name_of(found) != name)


_NOTHING_FOUND = re.compile(
    r"file or directory not found|no tests were collected|no tests ran|did not accept its arguments"
)


def _plainer_command(case: _Case) -> Plan | None:
    """The test command without what pytest does not accept, and then without any argument."""
    text, command = case.failure.text, case.plan.test_command
    unknown = set(_unknown_options(text))
    kept = tuple(word for word in command if not (word.startswith("-") and _plain(word) in unknown))
    if kept != command:
        return case.changed(f"left out {' '.join(sorted(unknown))}: pytest does not know it", test_command=kept)
    if "unrecognized arguments" in text and NO_OWN_OPTIONS[-1] not in command:
        return case.changed(
            f"left out the project's own options of pytest: it does not know {' '.join(sorted(unknown))}",
            test_command=(*command, *NO_OWN_OPTIONS),
        )
    if len(command) > 3 and _NOTHING_FOUND.search(text):
        return case.changed("left out the arguments of pytest: no test was found with them", test_command=command[:3])
    return None


def _older_pytest(case: _Case) -> Plan | None:
    """A pytest that reads files with tests that yield: it expects those to fail, and runs the others. A later one refuses such files."""
    if "'yield' keyword is allowed in fixtures, but not in tests" not in case.failure.text:
        return None
    return case.changed(
        f"chose {READS_YIELD_TESTS}: a later one refuses each file with a test that yields",
        requirements=(*_without(case.plan.requirements, "pytest"), READS_YIELD_TESTS),
        constraints=_without(case.plan.constraints, "pytest"),
    )


def _django_settings(case: _Case) -> Plan | None:
    """The settings that manage.py names, with Django's plug-in of pytest."""
    script = case.files.text(posixpath.join(case.plan.directory, "manage.py"))
    settings = re.search(r"DJANGO_SETTINGS_MODULE['\"]\s*,\s*['\"]([\w.]+)", script)
    if settings is None or not re.search(r"settings are not configured|Apps aren't loaded", case.failure.text):
        return None
    variables = (*case.plan.variables, ("DJANGO_SETTINGS_MODULE", settings[1]))
    plugin = () if case.has("pytest-django") else ("pytest-django",)
    return case.changed(
        f"chose Django's settings {settings[1]} from manage.py",
        variables=variables,
        requirements=(*case.plan.requirements, *plugin),
    )


# ── Packages that cannot be resolved or built ──

_SUBJECTS = re.compile(
    r"Because (?:there (?:is|are) no versions? of )?([A-Za-z0-9][\w.-]*?)(?:\[[^\]]*\])?(?:[<>=!~]\S*)? (?:was not found|has no|could not)|"
    r"there (?:is|are) no versions? of ([A-Za-z0-9][\w.-]*?)[<>=!~\s]|Because only ([A-Za-z0-9][\w.-]*?)[<>=!~]"
)


def _replace_subject(case: _Case) -> Plan | None:
    """The distribution at fault without its pin, by another one that does the same, or left out."""
    plan, names = case.plan, _SUBJECTS.findall(case.failure.text)
    subject = case.failure.subject or next(("".join(each) for each in names), "")
    if not subject:
        return None
    name = canonicalize_name(subject)
    if (free := _without(plan.constraints, subject)) != plan.constraints:
        return case.changed(f"freed {subject} from its pin: that version cannot be had here", constraints=free)
    found = next((each for each in _parsed(plan.requirements) if name_of(each) == name), None)
    if found is not None and name != "pytest":
        others, instead = _without(plan.requirements, subject), well_known("instead").get(name)
        if instead and instead not in plan.requirements:
            return case.changed(f"chose {instead} for {subject}", requirements=(*others, instead))
        if found.specifier:
            return case.changed(f"freed {subject} from {found.specifier}", requirements=(*others, found.name))
        return case.changed(f"left out {subject}: it cannot be had here", requirements=others)
    for extra in plan.extras:
        lines = _parsed(case.declared.extras.get(extra, ()))
        if name in map(name_of, lines):
            requirements = (*plan.requirements, *(str(each) for each in lines if name_of(each) != name))
            extras = tuple(each for each in plan.extras if each != extra)
            return case.changed(f"left out {subject} of the extra {extra}", extras=extras, requirements=requirements)
    return None


def _next_python(case: _Case) -> Plan | None:
    """The next Python, where the text is about Python's version or something could not be built on this one."""
    about = re.search(
        r"requires? (a different )?Python|[Rr]equires-Python|Python>=|Python version|requires-python", case.failure.text
    )
    if len(case.plan.minors) < 2 or not (about or case.failure.stage is Stage.BUILD):
        return None
    return case.changed(f"chose Python {case.plan.minors[1]} after {case.plan.minors[0]}", minors=case.plan.minors[1:])


def _free_all(case: _Case) -> Plan | None:
    """Without all pins, then without all extras, then without installing the project."""
    plan = case.plan
    pinned = [each for each in _parsed(plan.requirements) if any(limit.operator == "==" for limit in each.specifier)]
    if plan.constraints:
        return case.changed(
            f"left out the pins of {plan.lock or 'constraints'}: they do not fit together here",
            constraints=(),
            lock=None,
        )
    if pinned:
        for each in pinned:
            each.specifier = SpecifierSet()
        free = (*(line for line in plan.requirements if "==" not in line.partition(";")[0]), *map(str, pinned))
        return case.changed("freed all requirements from their pins: they do not fit together here", requirements=free)
    if plan.project is not None:
        requirements = tuple(dict.fromkeys((*case.declared.dependencies, *plan.requirements)))
        return case.changed(
            "left the project itself uninstalled: it cannot be built here",
            project=None,
            extras=(),
            requirements=requirements,
        )
    return None


_Rules = tuple[Callable[[_Case], Plan | None], ...]
_OF_TESTS: _Rules = (_add_missing, _fit_python, _older_pytest, _django_settings, _plainer_command)
_OF_PACKAGES: _Rules = (_replace_subject, _next_python, _free_all)
