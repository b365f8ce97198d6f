"""Makes plans of what a checkout says about itself, best evidence first, ending in plain fallbacks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from packaging.utils import canonicalize_name

from memory.model import Plan
from workers.configuration.schema import ANY_ENVIRONMENT, PATH, EnvironmentChoices
from workers.environments.evidence import conda_recipe, recipes
from workers.environments.metadata import Declared, declared, requirement
from workers.environments.projects import missing_parts, project_of
from workers.environments.recipe import Recipe
from workers.environments.tree_files import TreeFiles, well_known
from workers.sandbox.run_tests import DEFAULT_COMMAND, default_command

MOST_PLANS = 8
TOOLS = frozenset(well_known("recipes")["not_installed"])
"""What recipes install to run themselves."""

_FOR_TESTS = frozenset({"test", "tests", "testing", "dev", "devel", "develop", "development", "ci"})
_LISTS = frozenset({"requirements", "requirement", "reqs", "dependencies", "deps"})
"""Words in the names of files that list requirements: other texts beside the tests are data."""

_DIRECTORIES = ("", "requirements", "requirements.d", "tests", "test", "ci")


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
    about = [each for each in recipes(files, directory) if _is_about(each, known)]
    recipes_here = (*map(partial(_completed, listed), about), listed, *_fallbacks(files, known))
    found = [_plan(_chosen(recipe, choices, known), known) for recipe in recipes_here]
    if choices.python:
        found = [replace(plan, minors=(choices.python,)) for plan in found]
    notes = (*missing_parts(files), *([f"other projects here: {', '.join(others)}"] if others else []))
    distinct = {replace(plan, source="", notes=(), variables=()): plan for plan in reversed(found)}
    plans = [plan for plan in found if plan in distinct.values()][:MOST_PLANS]
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
    if conda := conda_recipe(files):
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
    lines = [*recipe.requirements, *(line for group in recipe.groups for line in known.groups.get(group, ()))]
    parsed = [each for each in map(requirement, dict.fromkeys(lines)) if each is not None and not each.url]
    own = [each for each in parsed if canonicalize_name(each.name) == canonicalize_name(known.name)]
    extras = [*recipe.local.get(known.directory, ()), *(extra for each in own for extra in sorted(each.extras))]
    wanted = [str(each) for each in parsed if each not in own and canonicalize_name(each.name) not in TOOLS]
    has_pytest = any(canonicalize_name(each.name) == "pytest" and each.marker is None for each in parsed)
    siblings = [
        each
        for each in recipe.local
        if each not in (known.directory, "\0") and declared(recipe.files, each).installable
    ]
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
