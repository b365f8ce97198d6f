"""Reads how a checkout is installed and tested: CI workflows first, then tox, nox, hatch and make. Nothing of it is run."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from workers.environments.metadata import USUAL_MINORS
from workers.environments.recipe import Recipe
from workers.environments.task_files import shell_words, tox_environments
from workers.environments.tree_files import Table, TreeFiles, items, strings, table, word

WORKFLOWS = ".github/workflows"
MOST_WORKFLOWS, MOST_JOBS = 40, 60
_EXPRESSION = re.compile(r"\$\{\{\s*+([\w.-]++)[^{}]*\}\}")
_MINOR = re.compile(r"(?<![\d.])3\.(\d{1,2})(?!\d)")
_OTHER_WORK = re.compile(
    r"lint|doc|release|publish|deploy|wheel|typ(e|ing)|mypy|bench|speed|fuzz|cov|nightly|downstream|mini?mum|win|mac|osx|msys|musl|"
    r"pypy|alpine|threaded|color|support|upstream|integration",
    re.IGNORECASE,
)
_OF_A_SERVICE = re.compile(r"localhost|127\.0\.0\.1|postgres|mysql|redis|mongo|amqp", re.IGNORECASE)


def recipes(files: TreeFiles, directory: str) -> Iterator[Recipe]:
    """What a repository does to test the project in a directory, best evidence first."""
    jobs = ci_recipes(files)
    yield from (recipe for doubt, recipe in jobs if doubt <= 0)
    tasks = (
        ("tox", ["tox"], bool(tox_environments(files, directory))),
        ("nox", ["nox"], bool(files.text(posixpath.join(directory, "noxfile.py")))),
        (
            "hatch",
            ["hatch", "test"],
            bool(table(files.toml(posixpath.join(directory, "pyproject.toml")), "tool", "hatch", "envs")),
        ),
        ("make test", ["make", "test"], bool(files.text(posixpath.join(directory, "Makefile")))),
    )
    for source, command, there in tasks:
        if there:
            recipe = Recipe(files=files, source=source, here=directory)
            recipe.follow([command])
            yield recipe
    yield from (recipe for doubt, recipe in jobs if doubt > 0)


def ci_recipes(files: TreeFiles) -> list[tuple[int, Recipe]]:
    """A recipe for each job of CI that runs tests, the likeliest first, with how much is against it (above 0: other work)."""
    found: list[tuple[int, Recipe]] = []
    for name in files.names(WORKFLOWS)[:MOST_WORKFLOWS]:
        workflow = files.yaml(f"{WORKFLOWS}/{name}")
        for key, job in itertools.islice(table(workflow, "jobs").items(), MOST_JOBS):
            recipe = _job(files, workflow, table(job), f"CI: {WORKFLOWS}/{name}, job {key}")
            if recipe.command and files.place(recipe.directory):
                found.append((_doubt(f"{name} {key}", recipe), recipe))
    return sorted((*found, *((0, recipe) for recipe in _travis(files))), key=lambda each: each[0])


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
    """The smaller, the likelier that a job is the one that tests the project as developers do."""
    tests = 2 * ("test" in title.lower()) + bool(recipe.local or recipe.requirements)
    return 3 * (_OTHER_WORK.search(title) is not None) - tests


def _job(files: TreeFiles, workflow: Table, job: Table, source: str) -> Recipe:
    recipe = Recipe(files=files, source=source)
    matrix = _matrix(table(job, "strategy", "matrix"))
    values = {f"matrix.{key}": min(each, key=_rank) for key, each in matrix.items() if each}
    start = word(table(job, "defaults", "run").get("working-directory")) or "."
    pythons = [
        each for key, several in matrix.items() if "py" in key.lower() or "tox" in key.lower() for each in several
    ]
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
        tested = bool(recipe.command)
        recipe.follow(shell_words(script))
        if tested or not recipe.command:
            recipe.variables = before  # those of a step that does not test are its own
    recipe.minors = tuple(dict.fromkeys(f"3.{minor}" for each in pythons for minor in _minors(each)))
    if services := ", ".join(map(str, table(job, "services"))):
        recipe.variables = {name: value for name, value in recipe.variables.items() if not _OF_A_SERVICE.search(value)}
        recipe.notes.append(f"CI starts {services}: tests that need them are set aside")
    return recipe


def _matrix(matrix: Table) -> dict[str, list[str]]:
    """The values of a matrix by key, those of `include` after its own."""
    found = {
        str(key): [word(each) for each in items(value)]
        for key, value in matrix.items()
        if key not in ("include", "exclude")
    }
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


def conda_recipe(files: TreeFiles) -> Recipe | None:
    """What pip installs in an environment.yml; None where there is none."""
    path = next((name for name in ("environment.yml", "environment.yaml") if files.text(name)), "")
    listed = items(files.yaml(path).get("dependencies")) if path else []
    if not listed:
        return None
    recipe = Recipe(files=files, source=path)
    for each in listed:
        recipe.install(strings(table(each).get("pip")))
    recipe.minors = tuple(
        f"3.{minor}" for each in strings(listed) if each.startswith("python=") for minor in _minors(each)
    )
    return recipe
