"""Discovery of a project: interpreter, command and import roots, or one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workers.errors import BadInput
from workers.repair.reproduce import sources_of
from workers.sandbox.launching import interpreter_files, prefixes
from workers.sandbox.project import discover, whole_suite
from workers.sandbox.run_tests import base_environment

PYTHON = Path(sys.executable)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with one test."""
    root = tmp_path / "checkout"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "test_one.py").write_text("def test_one(): pass\n")
    return root


def environment(root: Path, name: str = ".venv", python: Path = PYTHON) -> Path:
    """A virtual environment as far as looking goes."""
    place = root / name
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(f"home = {python.resolve().parent}\n")
    (place / "bin" / "python").symlink_to(python.resolve())
    return place


def test_the_default_is_pytest_on_our_own_interpreter(tree: Path) -> None:
    """Without anything said, `python -m pytest` runs on the interpreter that we run on."""
    project = discover(tree, python=None, test_command=None)
    assert project.test_command == ("python", "-m", "pytest")
    assert project.python == PYTHON
    assert project.source_roots == (".",)


@pytest.mark.parametrize(
    "command", ["DEBUG=1 PYTHONPATH='a b' python -m pytest", "env DEBUG=1 PYTHONPATH='a b' python -m pytest"]
)
def test_a_command_may_begin_with_variables(tree: Path, command: str) -> None:
    """As in a shell; they come after those of the environment, and the command is still known to be pytest."""
    project = discover(tree, python=None, test_command=command, variables=(("DEBUG", "0"), ("MODE", "ci")))
    assert project.test_command == ("python", "-m", "pytest")
    assert project.command_line() == "DEBUG=1 PYTHONPATH='a b' python -m pytest"
    seen = base_environment(project)
    assert (seen["DEBUG"], seen["MODE"]) == ("1", "ci")
    assert seen["PYTHONPATH"].endswith("/a b")


@pytest.mark.parametrize("command", ["env -u X python -m pytest", "env HOME=/x A=1 python -m pytest"])
def test_env_with_options_or_for_what_the_sandbox_sets_is_a_program(tree: Path, command: str) -> None:
    """The sandbox would set the latter after it, and nobody would see that they had no effect."""
    project = discover(tree, python=None, test_command=command.removeprefix("env ") if "=" in command else command)
    assert (project.command_line(), project.assigned) == (command, ())


def test_a_src_layout_is_importable(tree: Path) -> None:
    """`src` comes before the root on the import path."""
    (tree / "src").mkdir()
    assert discover(tree, python=None, test_command=None).source_roots == ("src", ".")


@pytest.mark.parametrize("name", [".venv", "venv"])
def test_an_interpreter_in_the_checkout_is_never_taken(tree: Path, name: str) -> None:
    """Whoever wrote the checkout wrote its environment: the tests run on ours."""
    environment(tree, name)
    assert discover(tree, python=None, test_command=None).python == PYTHON


def test_a_copy_has_the_commands_of_its_original(tree: Path, tmp_path: Path) -> None:
    """`copy_of` lends commands to a checkout without its own."""
    place = environment(tmp_path / "original")
    project = discover(tree, python=None, test_command=".venv/bin/python -m pytest", copy_of=tmp_path / "original")
    assert project.test_command[0] == str(place / "bin" / "python")


def test_an_explicit_interpreter_wins(tree: Path) -> None:
    """What the user names is used though the checkout has an environment."""
    environment(tree)
    assert discover(tree, python=PYTHON, test_command=None).python == PYTHON


@pytest.mark.parametrize(
    ("name", "text"),
    [("pytest.ini", "[pytest]\n"), ("pyproject.toml", "[tool.pytest.ini_options]\n"), ("setup.cfg", "[tool:pytest]\n")],
)
def test_a_pytest_configuration_stands_for_tests(tmp_path: Path, name: str, text: str) -> None:
    """Where pytest is configured, tests may have any name."""
    (tmp_path / name).write_text(text)
    assert discover(tmp_path, python=None, test_command=None).tree == tmp_path


def test_words_of_the_command_are_split_as_a_shell_would(tree: Path) -> None:
    """Quotes hold words together."""
    project = discover(tree, python=None, test_command="sh -c 'cd tests && pytest -q'")
    assert project.test_command == ("sh", "-c", "cd tests && pytest -q")


def test_a_word_of_the_command_may_be_longer_than_a_name(tree: Path) -> None:
    """A choice of many tests is no file."""
    words = " or ".join(f"test_{number}_of_many.py" for number in range(40))
    project = discover(tree, python=None, test_command=f"python -m pytest -k '{words}'")
    assert whole_suite(project) is None
    assert project.named_tests() == frozenset()


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("python -m pytest -c ci.ini tests/test_a.py", "python -m pytest -c ci.ini"),
        ("pytest --ignore tests/slow tests/test_a.py -k tests", "pytest --ignore tests/slow -k tests"),
        ("python -m pytest -k tests", None),
    ],
)
def test_a_value_of_an_option_names_no_tests(command: str, whole: str | None, tree: Path) -> None:
    """Though there is a file or directory of this name: it stays where it is when all tests are run."""
    for name in ("ci.ini", "tests/test_a.py", "tests/test_b.py", "tests/slow/test_c.py"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("")
    found = whole_suite(discover(tree, python=None, test_command=command))
    assert (found and " ".join(found.test_command)) == whole


def test_a_script_of_the_checkout_can_be_the_command(tree: Path) -> None:
    """A relative path is looked up in the checkout."""
    (tree / "check").write_text("#!/bin/sh\n")
    (tree / "check").chmod(0o755)
    assert discover(tree, python=None, test_command="./check").test_command == ("./check",)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program -q", "'no-such-program' does not exist"),
        ("./no-such-script", "'./no-such-script' does not exist"),
        ("tests/test_one.py", "'tests/test_one.py' does not exist"),
        ("pytest 'tests", "cannot be split into words"),
        ("  ", "is empty"),
        ("DEBUG=1", "is empty"),
        ("PYTEST_ADDOPTS=-x pytest", "write these options behind pytest"),
        ("cd src && pytest", "shell syntax needs sh -c"),
    ],
)
def test_a_command_that_cannot_be_started_is_bad_input(tree: Path, command: str, said: str) -> None:
    """The program of the test command has to exist and be executable."""
    with pytest.raises(BadInput, match=said) as caught:
        discover(tree, python=None, test_command=command)
    assert "\n" not in str(caught.value)


def test_a_missing_directory_is_bad_input(tmp_path: Path) -> None:
    """A path that is no directory is named."""
    with pytest.raises(BadInput, match="is not a directory"):
        discover(tmp_path / "nowhere", python=None, test_command=None)


def test_no_tests_is_bad_input(tmp_path: Path) -> None:
    """Tests inside environments and caches do not count."""
    place = environment(tmp_path)
    (place / "test_installed.py").write_text("")
    (tmp_path / "module.py").write_text("")
    with pytest.raises(BadInput, match="no tests in"):
        discover(tmp_path, python=None, test_command=None)


def test_files_called_tests_are_named(tmp_path: Path) -> None:
    """They are tests where no file is called as pytest's are, and the repair edits none of them."""
    for path in ("shop/tests.py", "till/cash_tests.py"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("")
    found = discover(tmp_path, python=None, test_command=None)
    assert found.test_command == ("python", "-m", "pytest", "shop/tests.py", "till/cash_tests.py")
    assert found.named_tests() == {"shop/tests.py", "till/cash_tests.py"}
    (tmp_path / "test_it.py").write_text("")
    assert discover(tmp_path, python=None, test_command=None).test_command == ("python", "-m", "pytest")


def test_a_package_called_venv_is_code(tmp_path: Path) -> None:
    """Only a directory with pyvenv.cfg is an environment."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "test_it.py").write_text("")
    assert discover(tmp_path, python=None, test_command=None).tree == tmp_path


def test_no_interpreter_is_bad_input(tree: Path) -> None:
    """An interpreter that does not exist is named."""
    with pytest.raises(BadInput, match="is not an interpreter"):
        discover(tree, python=tree / "python", test_command=None)


def test_an_environment_shows_itself_and_its_base(tree: Path) -> None:
    """Both prefixes are needed inside, each under the name that links use."""
    place = environment(tree)
    found = prefixes(place / "bin" / "python")
    base = PYTHON.resolve().parent.parent
    assert found[0] == place
    assert base in found or base == Path("/usr")


def test_a_planted_link_opens_nothing_else(tree: Path, tmp_path: Path) -> None:
    """A repository whose `.venv` points into a directory of the host does not get that directory shown."""
    secrets = tmp_path / "secrets"
    (secrets / "bin").mkdir(parents=True)
    (secrets / "bin" / "python").write_text("#!/bin/sh\n")
    place = tree / ".venv"
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(f"home = {secrets / 'bin'}\n")
    (place / "bin" / "python").symlink_to(secrets / "bin" / "python")
    with pytest.raises(BadInput, match="lies in no Python installation"):
        discover(tree, python=place / "bin" / "python", test_command=None)


def test_a_base_that_is_no_installation_is_not_shown(tree: Path, tmp_path: Path) -> None:
    """`home` in pyvenv.cfg cannot name any directory it likes."""
    place = environment(tree)
    (place / "pyvenv.cfg").write_text(f"home = {tmp_path / 'secrets' / 'bin'}\n")
    assert tmp_path / "secrets" not in prefixes(place / "bin" / "python")


def test_only_what_an_environment_needs_is_shown(tree: Path, tmp_path: Path) -> None:
    """Of a prefix the sandbox sees what an interpreter reads: no other file beside it, and nothing that a link leads to."""
    place, neighbour = environment(tree), tmp_path / "neighbour"
    neighbour.mkdir()
    (place / "diary.txt").write_text("private")
    (place / "lib").symlink_to(neighbour)
    found = interpreter_files(place / "bin" / "python")
    assert [path.name for path in found if path.parent == place] == ["bin", "pyvenv.cfg"]


def test_a_command_is_believed(tmp_path: Path) -> None:
    """Files that are called otherwise than tests are tests where the command names them, and no sources to repair."""
    for name in ("tests_x.py", "shop.py", "sub/spec.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    project = discover(tmp_path, python=None, test_command="python -m pytest tests_x.py::test_a -q absent.py")
    assert project.named_tests() == {"tests_x.py"}
    assert set(sources_of(project)) == {"shop.py", "sub/spec.py"}
    below = discover(tmp_path, python=None, test_command="pytest spec.py", directory="sub")
    assert (below.named_tests(), below.argument("sub/spec.py")) == ({"sub/spec.py"}, "spec.py")
    documented = discover(tmp_path, python=None, test_command="pytest --doctest-modules shop.py")
    assert "shop.py" in sources_of(documented)


def test_a_project_below_the_root_has_its_own_import_roots(tree: Path) -> None:
    """Those of its directory come first, then those of the root; a directory that leads out of the tree is refused."""
    (tree / "pkgs" / "a" / "src").mkdir(parents=True)
    project = discover(
        tree, python=None, test_command=None, directory="pkgs/a", variables=(("PYTHONPATH", "lib:."), ("A", "1"))
    )
    assert project.source_roots == ("pkgs/a/src", "pkgs/a", ".")
    variables = base_environment(project)
    assert variables["A"] == "1"
    assert variables["PYTHONPATH"].split(":")[-2:] == ["/workspace/pkgs/a/lib", "/workspace/pkgs/a"]


@pytest.mark.parametrize("kind", ["installation", "environment"])
def test_a_prefix_that_holds_other_things(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home directory, or its `.local`, may be a prefix: documents, data, sources and other libraries stay hidden."""
    for name in ("bin/python3", "lib/python3.11/os.py", "lib/node/secret.js", "lib/libpython3.11.so.1.0", "share/keys"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for name in ("src/own.py", "etc/token", "include/own.h", "ssl/private/key.pem", "libexec/own"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    if kind == "environment":
        (tmp_path / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path))
    found = {str(path.relative_to(tmp_path)) for path in interpreter_files(tmp_path / "bin" / "python3")}
    assert found - {"pyvenv.cfg"} == {"bin", "lib/python3.11", "lib/libpython3.11.so.1.0"}
    monkeypatch.setenv("HOME", "/home/other")
    found = {str(path.relative_to(tmp_path)) for path in interpreter_files(tmp_path / "bin" / "python3")}
    assert ("src" in found) == (kind == "environment"), "where pip puts editable packages"


def test_a_configuration_of_a_gigabyte_is_not_read_whole(tree: Path) -> None:
    """A commit of a few kilobytes may hold such a file; whether it is pytest's is seen at its beginning."""
    with (tree / "tox.ini").open("wb") as file:
        file.truncate(1 << 30)
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
    found = "from pathlib import Path; from workers.sandbox.project import discover\n"
    found += f"print(discover(Path({str(tree)!r}), python=None, test_command=None).test_command[-1])"
    ran = subprocess.run(
        [sys.executable, "-c", limited + found],
        env={"PYTHONPATH": str(Path(__file__).parents[4])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.returncode) == ("pytest\n", 0), ran.stderr
