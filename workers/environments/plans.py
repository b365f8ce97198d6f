"""Makes plans of how a checkout says that it is installed and tested, best evidence first.

CI workflows come before tox, nox, hatch and make, and plain fallbacks come last. Nothing of the checkout is run.
"""

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from packaging.utils import canonicalize_name

from memory.model import Plan
from workers.configuration.schema import ANY_ENVIRONMENT, PATH, EnvironmentChoices
from workers.environments.metadata import USUAL_MINORS, Declared, declared, name_of, requirement
from workers.environments.projects import few, missing_parts, project_of
from workers.environments.recipe import Recipe
from workers.environments.task_files import shell_words, tox_environments
from workers.environments.tree_files import Table, TreeFiles, items, strings, table, well_known, word
from workers.sandbox.project import DEFAULT_COMMAND, default_command

MAX_PLANS = 8
TOOLS = frozenset(well_known("recipes")["not_installed"])
"""What recipes install to run themselves."""

_FOR_TESTS = frozenset({"test", "tests", "testing", "dev", "devel", "develop", "development", "ci"})
_LISTS = frozenset({"requirements", "requirement", "reqs", "dependencies", "deps"})
"""Words in the names of files that list requirements: other texts beside the tests are data."""

_DIRECTORIES = ("", "requirements", "requirements.d", "tests", "test", "ci")

WORKFLOWS = ".github/workflows"
MAX_WORKFLOWS, MAX_JOBS = 40, 60
_EXPRESSION = re.compile(r"\$\{\{\s*+([\w.-]++)[^{}]*\}\}")
_MINOR = re.compile(r"(?<![\d.])3\.(\d{1,2})(?!\d)")
_OTHER_WORK = re.compile(
    r"lint|doc|release|publish|deploy|wheel|typ(e|ing)|mypy|bench|speed|fuzz|cov|nightly|downstream|mini?mum|win|mac|osx|msys|musl|"
    r"pypy|alpine|threaded|color|support|upstream|integration",
    re.IGNORECASE,
)
_OF_A_SERVICE = re.compile(r"localhost|127\.0\.0\.1|postgres|mysql|redis|mongo|amqp", re.IGNORECASE)


def plans_for(
    tree: Path, changed: Collection[str] = (), choices: EnvironmentChoices = ANY_ENVIRONMENT
) -> tuple[Plan, ...]:
    """Plans for the project in `tree`, best evidence first. Of several projects that of the files `changed` is planned for.

    Every plan follows the repository's `choices`. Nothing of the tree is executed. Paths in `changed` are relative to the tree.
    """
    files = TreeFiles(tree)
    directory, others = project_of(files, changed)
    known = declared(files, directory)
    listed = _declared_for_tests(files, known)
    about = [each for each in _recipes(files, directory) if _is_about(each, known)]
    recipes_here = (*map(partial(_completed, listed), about), listed, *_fallbacks(files, known))
    found = [_plan(_chosen(recipe, choices, known), known) for recipe in recipes_here]
    if choices.python:
        found = [replace(plan, minors=(choices.python,)) for plan in found]
    notes = (*missing_parts(files), *([f"other projects here: {few(others)}"] if others else []))
    distinct = {replace(plan, source="", notes=(), variables=()): plan for plan in reversed(found)}
    plans = [plan for plan in found if plan in distinct.values()][:MAX_PLANS]
    return tuple(replace(plan, notes=tuple(dict.fromkeys((*plan.notes, *notes)))) for plan in plans)


def _declared_for_tests(files: TreeFiles, known: Declared) -> Recipe:
    """The extras, groups and requirements files that are called as those for tests are."""
    listed = Recipe(files=files, source="what the project declares for its tests", here=known.directory)
    listed.local[known.directory] = [name for name in known.extras if _is_for_tests(name)]
    listed.groups += [name for name in known.groups if _is_for_tests(name) or name in ("packages", "tests_require")]
    for place in _DIRECTORIES:
        for name in files.names(posixpath.join(known.directory, place)):
            stem, suffix = posixpath.splitext(name)
            listing = place.startswith("requirements") or not _LISTS.isdisjoint(_words(stem))
            plain = stem == "requirements" or (place.startswith("requirements") and stem == "base")
            if suffix in (".txt", ".in") and listing and (plain or _is_for_tests(stem)):
                listed.install(["-r", posixpath.join(place, name)])
    return listed


def _is_for_tests(name: str) -> bool:
    """Whether an extra, a group or a file is called as those are that developers install to test."""
    return name == "all" or not _FOR_TESTS.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    return re.split(r"[-_.]", name.lower())


def _completed(listed: Recipe, recipe: Recipe) -> Recipe:
    """A recipe that installs nothing but the project, with what the project declares."""
    if not recipe.requirements and not recipe.groups and not any(recipe.local.values()):
        recipe.requirements += listed.requirements
        recipe.groups += listed.groups
        recipe.local = {**recipe.local, **listed.local}
    return recipe


def _chosen(recipe: Recipe, choices: EnvironmentChoices, known: Declared) -> Recipe:
    """A recipe with what the repository chose for its tests in addition."""
    at, recipe.here = recipe.here, "."
    for path in choices.requirements:
        recipe.install(["-r", path])
    recipe.here = at
    if choices.extras:
        recipe.local = {**recipe.local, known.directory: [*recipe.local.get(known.directory, ()), *choices.extras]}
    if missing := {*map(canonicalize_name, choices.extras)} - {*map(canonicalize_name, known.extras)}:
        recipe.notes.append(f"{PATH} asks for extras that the project does not have: {', '.join(sorted(missing))}")
    return recipe


def _fallbacks(files: TreeFiles, known: Declared) -> Iterator[Recipe]:
    if conda := _conda_recipe(files):
        yield conda
    yield Recipe(files=files, source="the project and pytest", here=known.directory)
    bare = Recipe(
        files=files, source="the project's dependencies and pytest, the project not installed", here=known.directory
    )
    bare.requirements += known.dependencies
    bare.local["\0"] = []
    yield bare


def _is_about(recipe: Recipe, known: Declared) -> bool:
    """Whether a recipe is about the project: those of a repository's CI may be about others in it."""
    if known.directory == "." or not recipe.source.startswith("CI"):
        return True
    within = f"{recipe.directory}/".startswith(f"{known.directory}/")
    return within or (recipe.directory == "." and known.directory in recipe.local)


def _plan(recipe: Recipe, known: Declared) -> Plan:
    """A recipe with the metadata of its project as a plan. What it asks of the project itself becomes extras."""
    installed = known.installable and "\0" not in recipe.local
    beside = {each: extras for each, extras in recipe.local.items() if each not in (known.directory, "\0")}
    lines = [
        *recipe.requirements,
        *(line for group in recipe.groups for line in known.groups.get(group, ())),
        *(f"{declared(recipe.files, each).name}[{','.join(extras)}]" for each, extras in beside.items() if extras),
    ]
    parsed = [each for each in map(requirement, dict.fromkeys(lines)) if each is not None and not each.url]
    own = [each for each in parsed if name_of(each) == canonicalize_name(known.name)]
    extras = [*recipe.local.get(known.directory, ()), *(extra for each in own for extra in sorted(each.extras))]
    wanted = [str(each) for each in parsed if each not in own and name_of(each) not in TOOLS]
    has_pytest = any(name_of(each) == "pytest" and each.marker is None for each in parsed)
    siblings = [each for each in beside if declared(recipe.files, each).installable]
    names = {canonicalize_name(each): each for each in known.extras}
    return Plan(
        source=recipe.source,
        python=known.python,
        minors=known.minors_in_order(recipe.minors),
        requirements=(*wanted, *([] if has_pytest else ["pytest"])),
        constraints=tuple(dict.fromkeys((*recipe.constraints, *(known.pins if installed else ())))),
        project=known.directory if installed else None,
        siblings=tuple(siblings),
        extras=tuple(dict.fromkeys(names[each] for each in map(canonicalize_name, extras) if each in names)),
        groups=tuple(dict.fromkeys(recipe.groups)),
        lock=known.lock if installed else None,
        test_command=recipe.command or default_command(recipe.files.root / known.directory) or DEFAULT_COMMAND,
        directory=recipe.directory if recipe.command else known.directory,
        variables=tuple(sorted(recipe.variables.items())),
        notes=tuple(dict.fromkeys(recipe.notes)),
    )


# ── What the checkout says ──


def _recipes(files: TreeFiles, directory: str) -> Iterator[Recipe]:
    """What a repository does to test the project in a directory, best evidence first."""
    jobs = _ci_recipes(files)
    yield from (recipe for doubt, recipe in jobs if doubt <= 0)
    pyproject = files.toml(posixpath.join(directory, "pyproject.toml"))
    tasks = (
        ("tox", ["tox"], tox_environments(files, directory)),
        ("nox", ["nox"], files.text(posixpath.join(directory, "noxfile.py"))),
        ("hatch", ["hatch", "test"], table(pyproject, "tool", "hatch", "envs")),
        ("make test", ["make", "test"], files.text(posixpath.join(directory, "Makefile"))),
    )
    for source, command, there in tasks:
        if there:
            recipe = Recipe(files=files, source=source, here=directory)
            recipe.follow([command])
            yield recipe
    yield from (recipe for doubt, recipe in jobs if doubt > 0)


def _ci_recipes(files: TreeFiles) -> list[tuple[int, Recipe]]:
    """A recipe for each job of CI that runs tests, the likeliest first, with how much is against it (above 0: other work).

    Of two alike, one without services is nearer to what can run here.
    """
    found: list[tuple[int, bool, Recipe]] = []
    for name in files.names(WORKFLOWS)[:MAX_WORKFLOWS]:
        workflow = files.yaml(f"{WORKFLOWS}/{name}")
        for key, job in itertools.islice(table(workflow, "jobs").items(), MAX_JOBS):
            recipe = _job(files, workflow, table(job), f"CI: {WORKFLOWS}/{name}, job {key}")
            if recipe.command and files.place(recipe.directory):
                found.append((_doubt(f"{name} {key}", recipe), bool(table(job, "services")), recipe))
    found += ((0, False, recipe) for recipe in _travis(files))
    return [(doubt, recipe) for doubt, _, recipe in sorted(found, key=lambda each: each[:2])]


def _travis(files: TreeFiles) -> Iterator[Recipe]:
    """What Travis runs, where a repository still says so."""
    travis = files.yaml(".travis.yml")
    recipe = Recipe(files=files, source="CI: .travis.yml")
    for step in ("before_install", "install", "before_script", "script"):
        recipe.follow(shell_words("\n".join(strings(travis.get(step)))))
    recipe.minors = tuple(f"3.{minor}" for each in items(travis.get("python")) for minor in _minors(word(each)))
    if recipe.command:
        yield recipe


def _doubt(title: str, recipe: Recipe) -> int:
    """The smaller, the likelier that a job is the one that tests the project as developers do, and not some tests alone."""
    tests = 2 * ("test" in title.lower()) + bool(recipe.local or recipe.requirements)
    return 3 * (_OTHER_WORK.search(title) is not None) + 2 * recipe.is_partial - tests


def _job(files: TreeFiles, workflow: Table, job: Table, source: str) -> Recipe:
    recipe = Recipe(files=files, source=source)
    matrix = _matrix(table(job, "strategy", "matrix"))
    values = {f"matrix.{key}": min(each, key=_rank) for key, each in matrix.items() if each}
    start = word(table(job, "defaults", "run").get("working-directory")) or "."
    about = [several for key, several in matrix.items() if "py" in key.lower() or "tox" in key.lower()]
    pythons = [each for several in about for each in several]
    for holder in (workflow, job):
        recipe.set_variables(_variables(table(holder, "env"), values))
        values |= {f"env.{key}": word(value) for key, value in table(holder, "env").items()}
    for step in map(table, items(job.get("steps"))):
        given = table(step, "with")
        pythons += [word(each) for each in items(given.get("python-version"))]
        script = _filled(word(step.get("run")), values)
        if not script:
            continue
        recipe.here = posixpath.normpath(_filled(word(step.get("working-directory")) or start, values))
        before = dict(recipe.variables)
        recipe.set_variables(_variables(table(step, "env"), values))
        tested = recipe.command
        recipe.follow(shell_words(script))
        if recipe.command == tested:
            recipe.variables = before  # those of a step that does not test are its own
    recipe.minors = tuple(dict.fromkeys(f"3.{minor}" for each in pythons for minor in _minors(each)))
    if services := ", ".join(map(str, table(job, "services"))):
        recipe.variables = {name: value for name, value in recipe.variables.items() if not _OF_A_SERVICE.search(value)}
        recipe.notes.append(f"CI starts {services}: tests that need them are set aside")
    return recipe


def _matrix(matrix: Table) -> dict[str, list[str]]:
    """The values of a matrix by key, those of `include` after its own."""
    own = ((key, value) for key, value in matrix.items() if key not in ("include", "exclude"))
    found = {str(key): [word(each) for each in items(value)] for key, value in own}
    for extra in map(table, items(matrix.get("include"))):
        for key, value in extra.items():
            found.setdefault(str(key), []).append(word(value))
    return found


def _rank(value: str) -> int:
    """Of several values of a matrix that of the Python that is tried first; of others the first."""
    minors = [f"3.{minor}" for minor in _minors(value)]
    return USUAL_MINORS.index(minors[0]) if minors and minors[0] in USUAL_MINORS else len(USUAL_MINORS)


def _minors(text: str) -> list[str]:
    return _MINOR.findall(text) or re.findall(r"(?<![a-z])py3?(\d{1,2})\b", text)


def _variables(given: Table, values: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return [(str(name), _filled(word(value), values)) for name, value in given.items()]


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the expressions that are known; the others stay, and are left out where they are used."""
    return _EXPRESSION.sub(lambda each: values.get(each[1], each[0] if each[1].startswith("secrets") else ""), text)


def _conda_recipe(files: TreeFiles) -> Recipe | None:
    """What pip installs in an environment.yml; None where there is none."""
    path = next((name for name in ("environment.yml", "environment.yaml") if files.text(name)), "")
    listed = items(files.yaml(path).get("dependencies")) if path else []
    if not listed:
        return None
    recipe = Recipe(files=files, source=path)
    for each in listed:
        recipe.install(strings(table(each).get("pip")))
    pythons = (each for each in strings(listed) if each.startswith("python="))
    recipe.minors = tuple(f"3.{minor}" for each in pythons for minor in _minors(each))
    return recipe
