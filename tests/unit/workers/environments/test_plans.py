"""Plans: what a checkout says about its tests becomes what is installed and run; nothing hostile in it does harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import Plan
from workers.configuration.schema import EnvironmentChoices
from workers.environments.mending import PlanFailure, Stage, mended
from workers.environments.metadata import USUAL_MINORS, declared
from workers.environments.plans import plans_for
from workers.environments.provide import without_environment
from workers.environments.tree_files import TreeFiles

PYPROJECT = """
[project]
name = "shop"
version = "1"
requires-python = ">=3.9"
classifiers = ["Programming Language :: Python :: 3.9", "Programming Language :: Python :: 3.12"]
dependencies = ["click"]
[project.optional-dependencies]
test = ["pytest-mock"]
docs = ["sphinx"]
[dependency-groups]
base = ["hypothesis"]
dev = ["ruff", {include-group = "base"}]
"""
WORKFLOW = """
on: push
env: {LANG_OF_SHOP: en}
jobs:
  lint:
    steps: [{run: "pip install ruff\\nruff check"}]
  a_benchmark:
    steps: [{run: "pip install asv\\npytest bench"}]
  test:
    strategy: {matrix: {python-version: ["3.13", "3.12"], os: [ubuntu-latest, windows-latest]}}
    services: {postgres: {image: postgres}}
    env: {DATABASE: "postgres://localhost/shop", TOKEN: "${{ secrets.TOKEN }}", PYTEST_ADDOPTS: "-x", LD_PRELOAD: "evil.so"}
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python-version }}"}
      - run: |
          python -m pip install --upgrade pip
          pip install -e ".[test]" -r requirements/ci.txt
          pip install '${{ steps.wheel.outputs.path }}'
      - run: TZ=UTC coverage run -m pytest -n auto --cov=shop tests/unit --strict-markers
        env: {COLUMNS: 120}
"""


def written(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def first(root: Path, files: Mapping[str, str]) -> Plan:
    return plans_for(written(root, files))[0]


def test_a_ci_job_is_a_plan(tmp_path: Path) -> None:
    """The job that tests is taken, with its matrix, its files and variables; reports and parallel runs are not."""
    files = {
        "pyproject.toml": PYPROJECT,
        ".github/workflows/ci.yml": WORKFLOW,
        "requirements/ci.txt": "-r base.txt\n-c pins.txt\ncoverage  # and so on\nother @ git+https://example.com/x\n",
        "requirements/base.txt": "attrs>=20 \\\n  --hash=sha256:00\n-e ..\n",
        "requirements/pins.txt": "attrs==23.1.0\n",
        "tests/unit/test_a.py": "",
    }
    plan = first(tmp_path, files)
    assert plan.source == "CI: .github/workflows/ci.yml, job test"
    assert (plan.project, plan.extras, plan.python) == (".", ("test",), ">=3.9")
    assert plan.minors[:3] == ("3.12", "3.13", "3.11")
    assert plan.requirements == ("attrs>=20", "coverage", "pytest")
    assert plan.constraints == ("attrs==23.1.0",)
    assert plan.test_command == ("python", "-m", "pytest", "tests/unit", "--strict-markers")
    assert dict(plan.variables) == {"LANG_OF_SHOP": "en", "COLUMNS": "120", "TZ": "UTC"}
    assert [note.partition(" ")[0] for note in plan.notes] == ["other", "CI"]


def test_a_job_without_services_comes_first(tmp_path: Path) -> None:
    """Of two that are alike otherwise: the sandbox has no services."""
    steps = "steps: [{run: pip install -e .}, {run: pytest}]"
    workflow = f"jobs:\n  test-a:\n    services: {{db: {{image: postgres}}}}\n    {steps}\n  test-b:\n    {steps}\n    env: {{B: 1}}\n"
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, ".github/workflows/ci.yml": workflow})
    assert (plan.source.rpartition(" ")[2], plan.notes) == ("test-b", ())


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("pytest tests/test_speed.py --no-cov", "all"),
        ("pytest tests/test_speed.py::test_one", "all"),
        ("pytest -m slow", "all"),
        ("pytest -m 'not slow' tests", "some"),
        ("pytest -p no:cacheprovider tests", "some"),
    ],
)
def test_a_job_that_runs_some_tests_alone_is_not_the_first(tmp_path: Path, command: str, first: str) -> None:
    """What it leaves out would be taken for passing. A job before it in the file, of a name that says nothing, is no more."""
    steps = "\n  {}:\n    steps:\n      - run: pip install -e .\n      - run: {}"
    workflow = f"jobs:{steps.format('some', command)}{steps.format('all', 'pytest tests')}\n"
    tree = written(
        tmp_path, {"pyproject.toml": PYPROJECT, ".github/workflows/ci.yml": workflow, "tests/test_speed.py": ""}
    )
    sources = [plan.source.rpartition(" ")[2] for plan in plans_for(tree)]
    assert sources[0] == first
    assert first == "some" or "some" in sources


@pytest.mark.parametrize("line", ["attrs; python_version < '4'", "\"attrs; python_version < '4'\"", "'attrs'", "attrs"])
def test_quotes_around_a_requirement_are_no_part_of_it(tmp_path: Path, line: str) -> None:
    """And those of its marker are."""
    tox = f"[testenv]\ndeps =\n    {line}\ncommands = pytest\n"
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, "tox.ini": tox, "tests/test_a.py": ""})
    assert (plan.source, plan.requirements[0].partition(";")[0], plan.notes) == ("tox", "attrs", ())


def test_a_command_of_pytest_that_runs_no_test_is_passed_over(tmp_path: Path) -> None:
    """As `pytest -V`, which says in a log what runs afterwards."""
    tox = "[testenv]\ncommands =\n    pytest -V\n    pytest tests\n"
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, "tox.ini": tox, "tests/test_a.py": ""})
    assert (plan.source, plan.test_command[3:]) == ("tox", ("tests",))


@pytest.mark.parametrize("some", ["README.rst docs/a.rst", "--doctest-modules shop", "tests/test_a.py", "-m slow"])
def test_a_command_of_some_tests_is_passed_over_for_one_of_more(tmp_path: Path, some: str) -> None:
    """As one for the examples of documents is: without another it counts. The first of two that run more counts."""
    files = {"pyproject.toml": PYPROJECT, "README.rst": "", "docs/a.rst": "", "shop/a.py": "", "tests/test_a.py": ""}
    tox = f"[testenv]\ncommands =\n    pytest {some}\n    pytest {some} -k x\n"
    assert first(tmp_path, {**files, "tox.ini": tox}).test_command[3:] == tuple(some.split())
    tox += "    pytest tests\n    pytest\n"
    assert first(tmp_path, {**files, "tox.ini": tox}).test_command[3:] == ("tests",)


def test_marks_that_share_the_tests_among_commands_are_not_asked_for(tmp_path: Path) -> None:
    """Each command runs a part, and tests without any of the marks run nowhere: one command without them runs all."""
    tox = "[testenv]\ncommands =\n    pytest -x -m unit tests\n    pytest -x -m system --cov-append tests\n"
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, "tox.ini": tox, "tests/test_a.py": ""})
    assert plan.test_command[3:] == ("tests",)


def test_a_command_in_backticks_is_no_part_of_a_value(tmp_path: Path) -> None:
    """Its first word became the value of a variable, and its other words hid the tests' command."""
    files = {
        "tox.ini": "[testenv]\ncommands = ./run\n",
        "run": "#!/bin/sh\nCERTS=`python3 -m certs` exec pytest tests\n",
    }
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, "tests/test_a.py": "", **files})
    assert (plan.test_command[3:], plan.variables) == (("tests",), ())


def test_conditions_within_a_command_of_tox(tmp_path: Path) -> None:
    """A line for another environment is left out before a command's lines are joined; a value of another section has its lines."""
    tox = (
        "[base]\ndeps =\n    pytest\n    py27: mock\n    attrs\n[testenv]\ndeps = {[base]deps}\n"
        "commands =\n    python -m pytest \\\n    pypy3: --no-cov \\\n        {posargs:tests}\n"
    )
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, "tox.ini": tox, "tests/test_a.py": ""})
    assert (plan.source, plan.test_command[3:], set(plan.requirements)) == ("tox", ("tests",), {"pytest", "attrs"})


@pytest.mark.parametrize("line", ["-e .[test]", "-e.[test]", ".[test]", "-e ..[test]", "-r more.txt"])
def test_a_requirements_file_installs_the_project_from_where_pip_runs(tmp_path: Path, line: str) -> None:
    """As pip reads it; a path from the file's own directory is understood too, where the other leads to no project."""
    files = {"requirements/ci.txt": f"{line}\nattrs\n", "requirements/more.txt": "-e .[test]\n", "Makefile": MAKE}
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, "tests/test_a.py": "", **files})
    assert (plan.source, plan.project, plan.extras, plan.siblings) == ("make test", ".", ("test",), ())
    assert plan.requirements[0] == "attrs"


MAKE = "test:\n\tpip install -r requirements/ci.txt\n\tpytest\n"


def test_the_repositorys_own_choices_are_in_every_plan(tmp_path: Path) -> None:
    """Python, extras and requirements files of `.github/apprentice.yml`; what is not there is named."""
    tree = written(
        tmp_path, {"pyproject.toml": PYPROJECT, "ci/more.txt": "freezegun\n", "Makefile": "test:\n\tpytest\n"}
    )
    choices = EnvironmentChoices(python="3.12", extras=("Docs", "gone"), requirements=("ci/more.txt", "none.txt"))
    plans = plans_for(tree, choices=choices)
    assert {plan.minors for plan in plans} == {("3.12",)}
    assert all("freezegun" in plan.requirements and "docs" in plan.extras for plan in plans)
    for note in (
        ".github/apprentice.yml asks for extras that the project does not have: gone",
        "none.txt is left out: there is no such file",
    ):
        assert all(note in plan.notes for plan in plans)


def test_plans_end_in_plain_ones(tmp_path: Path) -> None:
    """After what is declared for tests come the project with pytest, and its dependencies without it."""
    *_, declared_plan, plain, bare = plans_for(written(tmp_path, {"pyproject.toml": PYPROJECT}))
    assert (declared_plan.extras, declared_plan.groups) == (("test",), ("dev",))
    assert declared_plan.requirements == ("ruff", "hypothesis", "pytest")
    assert (plain.project, plain.requirements, plain.extras) == (".", ("pytest",), ())
    assert (bare.project, bare.requirements) == (None, ("click", "pytest"))
    assert plain.minors[:2] == ("3.12", "3.9")


TOX = """
[tox]
envlist = lint,py{39,310-311}-django{4,5}
[base]
deps = mock
[testenv]
extras = test
deps =
    {[base]deps}
    django4: Django<5
    django5: Django<6
    !django4: only-five
    -rrequirements.txt
setenv = SHOP = {toxinidir}/x
changedir = {toxinidir}/tests
commands = pytest \\
    {posargs:unit} --basetemp={envtmpdir}
"""


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (
            {"tox.ini": TOX, "requirements.txt": "six\n", "tests/unit/test_a.py": ""},
            {
                "requirements": ("mock", "Django<5", "six", "pytest"),
                "test_command": ("python", "-m", "pytest", "unit"),
                "directory": "tests",
                "extras": ("test",),
            },
        ),
        (
            {"tox.ini": "[testenv]\ncommands = pytest --doctest-modules {envsitepackagesdir}/shop\n", "shop/__init__.py": "", "tests/test_a.py": ""},
            {"test_command": ("python", "-m", "pytest", "--doctest-modules", "shop")},
        ),
        (
            {"tox.ini": "[testenv]\nchangedir = .tox\ncommands = pytest {env_site_packages_dir}/shop {tox_root}/tests\n", "tests/test_a.py": ""},
            {"test_command": ("python", "-m", "pytest", "tests"), "directory": "."},
        ),
        (
            {"tox.ini": "", "pyproject.toml": PYPROJECT + '[tool.tox]\nenv_list = ["py312"]\n[tool.tox.env_run_base]\ndependency_groups = ["base"]\ncommands = [["pytest", "-k", "a b"]]\n'},
            {"requirements": ("hypothesis", "pytest"), "test_command": ("python", "-m", "pytest", "-k", "a b")},
        ),
        (
            {"noxfile.py": 'import nox\nDEPS = ["mock", "six"]\n@nox.session\ndef lint(s): s.install("ruff")\n@nox.session(python=["3.9"])\ndef tests(session):\n    session.install("-e", ".[test]", *DEPS)\n    session.run("pytest", "-q", *session.posargs)\n'},
            {"requirements": ("mock", "six", "pytest"), "extras": ("test",)},
        ),
        (
            {"pyproject.toml": PYPROJECT + '[tool.hatch.envs.test]\ndependencies = ["mock"]\nfeatures = ["test"]\n[tool.hatch.envs.test.scripts]\nunit = "pytest {args:-k slow}"\n', "Makefile": "PY = hatch run\ntest: other\n\t@$(PY) test:unit\nother:\n\techo\n"},
            {"requirements": ("mock", "pytest"), "extras": ("test",), "test_command": ("python", "-m", "pytest", "-k", "slow"), "source": "make test"},
        ),
        (
            {".travis.yml": "python: [3.9]\ninstall: pip install mock .\nscript: ./run\n", "run": "#!/bin/sh\nset -e\nX=unit\nexec python -m pytest $X\n"},
            {"requirements": ("mock", "pytest"), "test_command": ("python", "-m", "pytest", "unit"), "source": "CI: .travis.yml"},
        ),
    ],
    ids=["tox.ini", "tox and the installed copy", "tox in a directory of its own", "tox in TOML", "nox", "hatch by make", "a script by Travis"],
)  # fmt: skip
def test_tools_are_followed(tmp_path: Path, files: Mapping[str, str], wanted: Mapping[str, object]) -> None:
    """What a tool would install and run, its substitutions made, without running it."""
    plans = plans_for(written(tmp_path, {"pyproject.toml": PYPROJECT, **files}))
    plan = next(each for each in plans if each.source == wanted.get("source", plans[0].source))
    assert {name: getattr(plan, name) for name in wanted} == wanted


POETRY = """
[tool.poetry]
name = "shop"
[tool.poetry.dependencies]
python = "^3.8"
six = "^1.2"
far = {git = "https://example.com/x"}
[tool.poetry.group.test.dependencies]
mock = {version = "~4.0", extras = ["a"], markers = "python_version < '3.12'"}
zero = "^0.3.1"
any = "^0"
patch = "^0.0.3"
exact = "1.5"
"""
SETUP = """
from setuptools import setup
TESTS = ["mock"]
setup(name="shop", python_requires=">=3.8", install_requires=["six"] + TESTS, tests_require=[*TESTS, "nose"], extras_require={"test": TESTS, "x": open("y").read()})
"""


@pytest.mark.parametrize("stated", [">=3.6.*", "three"])
def test_a_python_that_names_no_versions_is_no_limit(tmp_path: Path, stated: str) -> None:
    """Older tools took such a line; every Python may be tried, and ours may serve."""
    tree = written(tmp_path, {"setup.cfg": f"[metadata]\nname = shop\n[options]\npython_requires = {stated}\n"})
    assert {(plan.python, len(plan.minors)) for plan in plans_for(tree)} == {("", len(USUAL_MINORS))}
    assert without_environment(tree) == ""


def test_what_is_no_requirement_is_in_no_plan(tmp_path: Path) -> None:
    """Neither at first nor where a mend installs what the project declares in the place of the project."""
    setup = "from setuptools import setup\nOLD = 'attrs>=21.*'\n"
    setup += "setup(name='shop', python_requires='==3.11.*', install_requires=['six', OLD], extras_require={'test': [OLD]}, tests_require=[OLD])\n"
    tree = written(tmp_path, {"setup.py": setup})
    known = declared(TreeFiles(tree))
    assert (known.dependencies, *known.extras.values(), *known.groups.values()) == (("six",), (), ())
    plan = replace(plans_for(tree)[0], minors=("3.11",))
    bare = mended(plan, PlanFailure(stage=Stage.BUILD, text="error"), tree)
    assert bare is not None and (bare.project, bare.requirements) == (None, ("six", "pytest"))


def test_poetry_is_translated(tmp_path: Path) -> None:
    """Its versions become those of PEP 440; what comes from elsewhere than an index is left out."""
    found = declared(TreeFiles(written(tmp_path, {"pyproject.toml": POETRY})))
    assert (found.python, found.dependencies, found.installable) == (">=3.8,<4", ("six>=1.2,<2",), True)
    assert found.groups["test"] == (
        "mock[a]>=4.0,<4.1 ; python_version < '3.12'",
        "zero>=0.3.1,<0.4",
        "any>=0.0,<1",
        "patch>=0.0.3,<0.0.4",
        "exact==1.5",
    )


def test_a_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    """Constants, lists and sums are understood; what is computed is left to the build."""
    found = declared(TreeFiles(written(tmp_path, {"setup.py": SETUP + "raise SystemExit\n"})))
    assert (found.python, found.dependencies) == (">=3.8", ("six", "mock"))
    assert (found.extras, found.groups) == ({"test": ("mock",), "x": ()}, {"tests_require": ("mock", "nose")})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uv.lock", '[[package]]\nname="shop"\nversion="1"\nsource={editable="."}\n[[package]]\nname="Six"\nversion="1.16"\n[[package]]\nname="two"\nversion="1"\n[[package]]\nname="two"\nversion="2"\n'),
        ("poetry.lock", '[[package]]\nname="six"\nversion="1.16"\n[[package]]\nname="far"\nversion="1"\nsource={type="git"}\n'),
        ("Pipfile.lock", '{"default": {"six": {"version": "==1.16"}}, "develop": {"far": {"git": "x"}}}'),
        ("pylock.toml", '[[packages]]\nname="six"\nversion="1.16"\n'),
    ],
)  # fmt: skip
def test_locks_are_constraints(tmp_path: Path, name: str, text: str) -> None:
    """A package has the version of the lock; with several, and from elsewhere than an index, it is free."""
    plan = first(tmp_path, {"pyproject.toml": PYPROJECT, name: text})
    assert (plan.lock, plan.constraints) == (name, ("six==1.16",))


def test_a_project_among_several_is_chosen(tmp_path: Path) -> None:
    """By the files that changed or fail; without any the one with the most tests, and the others are named."""
    workflow = "jobs: {a: {steps: [{run: 'cd pkgs/a && pip install -e ../b[hot] mock && pytest'}]}, b: {defaults: {run: {working-directory: pkgs/b}}, steps: [{run: pip install six .}, {run: pytest}]}}"
    files = {f"pkgs/{name}/pyproject.toml": PYPROJECT.replace("shop", name) for name in "ab"}
    files |= {
        "pkgs/a/tests/test_1.py": "",
        "pkgs/b/test_1.py": "",
        "pkgs/b/test_2.py": "",
        ".github/workflows/t.yml": workflow,
    }
    tree = written(tmp_path, files)
    chosen = plans_for(tree)[0]
    assert (chosen.project, chosen.directory, chosen.requirements) == ("pkgs/b", "pkgs/b", ("six", "pytest"))
    assert "other projects here: pkgs/a" in chosen.notes
    other = plans_for(tree, changed=("pkgs/a/a/x.py",))[0]
    assert (other.project, other.siblings, other.requirements) == ("pkgs/a", ("pkgs/b",), ("mock", "b[hot]", "pytest"))


@pytest.mark.parametrize(
    ("changed", "directory"),
    [
        ((), "b"),
        (("CHANGES.md", "NEWS.md", "a/src/a/x.py"), "a"),
        (("CHANGES.md",), "b"),
        (("c/x.py",), "."),
    ],
)
def test_a_root_that_is_no_project_is_not_meant(tmp_path: Path, changed: tuple[str, ...], directory: str) -> None:
    """A project with more tests is, or the one whose modules change; the root's tests are for what has none of its own."""
    files = {f"{name}/pyproject.toml": PYPROJECT.replace("shop", name) for name in "abc"}
    files |= {f"b/src/b/inner/tests/test_{number}.py": "" for number in (1, 2)}
    tree = written(tmp_path, {**files, "a/test_1.py": "", "whole/test_1.py": "", "CHANGES.md": ""})
    assert plans_for(tree, changed)[0].directory == directory


def test_of_many_projects_the_first_are_named(tmp_path: Path) -> None:
    """And the others are counted."""
    files = {f"{name}/{path}": PYPROJECT for name in "abcdef" for path in ("pyproject.toml", "test_1.py")}
    assert first(tmp_path, files).notes == ("other projects here: a, b, c and 2 more",)


def test_what_a_checkout_lacks_is_named(tmp_path: Path) -> None:
    """Submodules that were not fetched, and pointers of Git LFS."""
    files = {
        ".gitmodules": '[submodule "x"]\n\tpath = data/x\n\turl = https://example.com\n',
        ".gitattributes": "*.bin filter=lfs",
        "data/big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
    }
    submodule, pointer = first(tmp_path, files).notes
    assert submodule.startswith("not fetched: submodule data/x;")
    assert pointer.startswith("only pointers of Git LFS: data/big.bin;")


@pytest.mark.parametrize(
    "files",
    [
        {".github/workflows/a.yml": "a: &a [x,x]\n" + "".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'},*{'a' if not n else f'b{n - 1}'}]\n" for n in range(40)) + "jobs: {t: {strategy: {matrix: {p: *b39}}, env: {A: *b39}, services: *b39, steps: *b39}}"},
        {"tox.ini": "[tox]\nenvlist=" + "{a,b}" * 40 + "\n[testenv]\ndeps={[testenv]deps}\ncommands=tox\n"},
        {"Makefile": "A=$(A)$(A)\ntest: test\n\t$(A) make test\n"},
        {"noxfile.py": "import nox\nX = X + X\n@nox.session\ndef tests(s): s.install(*X); s.run('nox')\n"},
        {"pyproject.toml": "[dependency-groups]\ndev=[{include-group='dev'},{include-group='dev'},'x']\n" + "[tool.poe.tasks]\ntest=['test','test']\n", "Makefile": "test:\n\tpoe test\n"},
        {"requirements.txt": "-r requirements.txt\n-r requirements.txt\n-r ../../etc/passwd\n-r /etc/passwd\n"},
        {"pyproject.toml": "[" * 5000, "setup.py": "(" * 5000, "setup.cfg": "]", "tox.ini": "\0", ".github/workflows/x.yml": "[" * 5000},
    ],
    ids=["yaml", "tox", "make", "nox", "groups", "requirements", "broken"],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_a_hostile_checkout_ends(tmp_path: Path, files: Mapping[str, str]) -> None:
    """Loops, explosions and broken files end in the plain plans."""
    assert plans_for(written(tmp_path, files))[-1].requirements[-1:] == ("pytest",)


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A file or directory that is a link reads as absent, wherever it leads."""
    outside, tree = written(tmp_path / "outside", {"r.txt": "stolen\n", "pyproject.toml": PYPROJECT}), tmp_path / "tree"
    tree.mkdir()
    (tree / "requirements.txt").symlink_to(outside / "r.txt")
    (tree / "requirements").symlink_to(outside)
    (tree / "pyproject.toml").symlink_to(outside / "pyproject.toml")
    assert {line for plan in plans_for(tree) for line in plan.requirements} == {"pytest"}


def test_data_beside_the_tests_is_no_list_of_requirements(tmp_path: Path) -> None:
    """A name that nobody wrote down as a requirement is never looked up: anybody may own it on the index."""
    files = {
        "tests/jsonl_test_data.txt": "hijklmnop\n",
        "tests/test_words.txt": "qrstuv\n",
        "tests/requirements.txt": "six\n",
        "dev_requirements.txt": "mock\n",
        "requirements/test.txt": "attrs\n",
    }
    plans = plans_for(written(tmp_path, {"pyproject.toml": PYPROJECT, **files}))
    asked = {line for plan in plans for line in plan.requirements}
    assert {"six", "mock", "attrs"} <= asked
    assert not {"hijklmnop", "qrstuv"} & asked
