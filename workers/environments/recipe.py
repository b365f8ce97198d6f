"""Follows the commands of a recipe (a CI job, an environment of tox) without running them: what it installs and tests."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from workers.environments import task_files
from workers.environments.metadata import METADATA, declared, requirement
from workers.environments.tree_files import TreeFiles, well_known
from workers.sandbox.project import DEFAULT_COMMAND

Words = Sequence[str]

MAX_COMMANDS, MAX_NESTED = 400, 6
_RECIPES, _RUNNERS = well_known("recipes"), well_known("runners")
_UNWANTED = re.compile(
    r"-[vqsxl]+|-n.+|-W.*|-r[a-zA-Z]*|--(cov|junit|durations|timeout|numprocesses|dist|reruns|maxfail|color|tb|html|benchmark|"
    r"verbos|quiet|exitfirst|self-contained|report|no-cov|codspeed|show|mypy|strict-co|session-t|instafail|memray|ff|lf|sw|cache-clear|"
    r"capture|log-cli|log-level|github|splits|group|tap|no-flaky|md|json|profile|memory|random-order|parallel|workers)[\w.=:/-]*.*"
)
_RUN_NOTHING = frozenset({"-V", "--version", "-h", "--help", "--fixtures", "--markers", "--collect-only", "--co"})
_HARMFUL = re.compile(
    r"(?!PYTHONPATH$|PYTHONUTF8$|PYTHONIOENCODING$)(?:APPRENTICE_|PYTEST_|PYTHON|PIP_|UV_|LD_|COVERAGE|COV_|CODECOV|GITHUB_|TOX|"
    r"NOX|FORCE_COLOR|PY_COLORS|PATH$|HOME$|TMP|POETRY|CIBW)"
)
_VARIABLE = re.compile(r"\$\{?(\w+)\b(?:[:-][^}]*)?\}?|\$[@*]()")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


@dataclass(slots=True, kw_only=True)
class Recipe:
    """What the commands followed so far install and test. `local` maps directories of the tree to the extras asked for.

    `started` is the directory of the command that reads a requirements file, while it is read.
    """

    files: TreeFiles
    source: str
    here: str = "."
    requirements: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    local: dict[str, list[str]] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    minors: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    directory: str = "."
    variables: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    started: str = ""
    depth: int = 0
    count: int = 0
    read: set[tuple[str, bool]] = field(default_factory=set)

    @property
    def is_partial(self) -> bool:
        """Whether the command runs some of the project's tests alone."""
        return _is_of_some_tests(self.command[len(DEFAULT_COMMAND) :])

    def follow(self, commands: Iterable[Words]) -> None:
        """Follow commands, and the tasks that they start, to a depth and number that no honest recipe has."""
        before, self.depth = self.here, self.depth + 1
        for words in commands if self.depth <= MAX_NESTED else ():
            self.count += 1
            if self.count > MAX_COMMANDS:
                break
            self._do(list(words))
        self.here, self.depth = before, self.depth - 1

    def set_variables(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep variables that tests may need: none of those that steer the interpreter, pytest, or our own reports."""
        self.variables |= {name: value for name, value in pairs if not _HARMFUL.match(name) and "{" not in value}

    def _do(self, words: list[str]) -> None:
        words = self._unwrapped([_VARIABLE.sub(self._value, each) for each in words])
        match posixpath.basename(words[0]) if words else "", words[1:]:
            case "cd", [place, *_] if self.files.place(self._at(place)):
                self.here = self._at(place)
            case (("pip" | "pip3"), ["install", *given]) | ("uv", ["pip", "install", *given]):
                self.install(given)
            case ("uv" | "poetry" | "pdm" | "pipenv" | "flit" | "rye") as tool, [
                ("sync" | "install" | "add") as verb,
                *given,
            ]:
                self._install_project(tool, verb, given)
            case "setup.py", [("develop" | "install"), *_]:
                self.install(["."])
            case (("pytest" | "py.test"), given):
                self._test(given)
            case (("coverage" | "unittest" | "setup.py"), given):
                if {"pytest", "unittest", "test"} & {words[0], *given}:
                    self._test(given[given.index("pytest") + 1 :] if "pytest" in given else [])
            case program, given:
                self.follow(task_files.commands_of(self.files, self.here, program, given))

    def _value(self, found: re.Match[str]) -> str:
        return self.values.get(found[1], self.variables.get(found[1], ""))

    def _unwrapped(self, words: list[str]) -> list[str]:
        """A command without the programs that only start it, and without its variables."""
        while words:
            program, rest = posixpath.basename(words[0]), words[1:]
            if _ASSIGNMENT.fullmatch(words[0]):
                name, _, value = words[0].partition("=")
                self.values[name] = value
                if rest:
                    self.set_variables([(name, value)])
                words = rest
            elif program == "export":
                self.set_variables((name, value) for name, _, value in (each.partition("=") for each in rest) if value)
                return []
            elif re.fullmatch(r"(python|pypy)[\d.]*(\.exe)?", program):
                words = _module_run(rest)
            elif program in _RUNNERS and rest[: len(_RUNNERS[program])] == _RUNNERS[program]:
                words = self._run_by(program, rest[len(_RUNNERS[program]) :])
            else:
                return words
        return words

    def _run_by(self, program: str, rest: list[str]) -> list[str]:
        """The command after a runner's options; with `uv run` the project is installed, too."""
        options: list[str] = []
        while rest[:1] and rest[0].startswith("-") and options[-1:] != ["-m"]:
            options.append(rest.pop(0))
            if options[-1] in _RECIPES["runner_valued"] and rest:
                options.append(rest.pop(0))
        if program == "uv":
            self._install_project("uv", "run", options)
        return rest

    # ── Installing ──

    def install(self, given: Words, *, constraining: bool = False) -> None:
        """The arguments of `pip install`, or of a line of a file that it reads."""
        waiting = [part for each in given for part in (each.split("=", 1) if re.match(r"--[a-z-]+=", each) else [each])]
        while waiting:
            each = waiting.pop(0)
            if each in ("--requirement", "--constraint", "--group", "--editable") and waiting:
                self._option(each.lstrip("-")[0], waiting.pop(0), constraining)
            elif short := re.fullmatch(r"-[UIq]*([rce])(.*)", each):
                self._option(short[1], short[2] or (waiting.pop(0) if waiting else ""), constraining)
            elif each in _RECIPES["valued"]:
                waiting = waiting[1:]
            elif not each.startswith("-"):
                self._package(each)

    def _option(self, option: str, value: str, constraining: bool) -> None:
        match option:
            case "r" | "c":
                self._requirement_file(self._at(value), constraining=constraining or option == "c")
            case "g":
                self.local.setdefault(self.here, [])
                self.groups.append(value.rpartition(":")[2])
            case _:
                self._package(value, local=True)

    def _package(self, text: str, *, local: bool = False) -> None:
        """One thing to install: a directory of the tree, or a requirement."""
        text = re.sub(r"^([\"'])(.*)\1$", r"\2", text.removeprefix("file:"))
        path, _, extras = text.removesuffix("]").partition("[")
        if "://" in text or " @ " in text:
            self.notes.append(f"{text} is left out: only distributions of the package index are installed")
        elif path.endswith((".whl", ".tar.gz")):
            self._local_project(self.here, "")
        elif local or path.startswith(".") or "/" in path:
            self._local_project(self._directory(path), extras)
        elif text:  # nothing is left of an expression of CI that only its runner knows
            self._require(text)

    def _directory(self, path: str) -> str:
        """A local path as pip reads it, in a requirements file too: from where pip runs, if a project is there."""
        from_start = posixpath.normpath(posixpath.join(self.started, path))
        is_project = not METADATA.isdisjoint(self.files.names(from_start))
        return from_start if self.started and is_project else self._at(path)

    def _local_project(self, directory: str, extras: str) -> None:
        self.local.setdefault(directory, []).extend(name for each in extras.split(",") if (name := each.strip()))

    def _require(self, line: str, *, constraining: bool = False) -> None:
        found = requirement(line)
        if found is None or found.url:
            self.notes.append(f"{line[:100]} is left out: it is no requirement from the package index")
        else:
            (self.constraints if constraining else self.requirements).append(str(found))

    def _requirement_file(self, path: str, *, constraining: bool) -> None:
        """The lines of a requirements file, with those of the files that it names; each file once, and no more than commands."""
        if (path, constraining) in self.read or len(self.read) >= MAX_COMMANDS:
            return
        self.read.add((path, constraining))
        text = self.files.text(path).replace("\\\n", " ")
        if not text:
            self.notes.append(f"{path} is left out: there is no such file")
        before, self.started = self.started, self.started or self.here
        outer, self.here, self.depth = self.here, posixpath.dirname(path) or ".", self.depth + 1
        for line in text.splitlines()[:MAX_COMMANDS] if self.depth <= MAX_NESTED else ():
            line = re.sub(r"(^|\s)#.*|\s--hash[= ]\S+", "", line).strip()
            if line.startswith("-"):
                self.install(line.split(), constraining=constraining)
            elif re.match(r"\.{0,2}/|\.(\[|$)|\w+://", line):
                self._package(line)
            elif line:
                self._require(line, constraining=constraining)
        self.here, self.depth, self.started = outer, self.depth - 1, before

    def _install_project(self, tool: str, verb: str, given: Words) -> None:
        """`uv sync`, `poetry install` and their kin: the project with groups and extras."""
        asked = self.local.setdefault(self.here, [])
        known = declared(self.files, self.here)
        for option, value in pairwise([*given, ""]):
            option, _, inline = option.partition("=")
            values = re.split(r"[,\s]+", inline or value)
            if option in ("--group", "--only-group", "--with", "-G", "--only"):
                self.groups += [each for each in values if each in known.groups]
                asked += [each for each in values if each in known.extras]
                if tool == "uv" and option == "--with":
                    self.install(values)
            elif option in ("--extra", "-E", "--extras"):
                asked += values
        if {"--all-extras", "-G:all", ":all"} & set(given):
            asked += known.extras
        if verb != "add" and not {"--no-dev", "--only", "--prod", "--production", "--no-default-groups"} & set(given):
            everything = tool in ("poetry", "pdm") or "--all-groups" in given
            self.groups += [each for each in known.groups if everything or each in ("dev", "packages")]

    # ── Testing ──

    def _test(self, arguments: Words) -> None:
        """Arguments of pytest: the first command that runs tests counts, without coverage, parallel runs and reports.

        One that runs some tests alone, as those in documents, counts until another runs more. Of two that differ in the
        mark that they choose by, as `-m unit` and `-m system`, neither runs all: then no mark is asked for.
        """
        if (self.command and not self.is_partial) or not _RUN_NOTHING.isdisjoint(arguments):
            return
        kept: list[str] = []
        waiting = list(arguments)
        while waiting:
            each = waiting.pop(0)
            if each in _RECIPES["pytest_valued"]:
                waiting = waiting[not " ".join(waiting[:1]).startswith("-") :]
            elif _UNWANTED.fullmatch(each):
                continue
            elif each in ("|", "||", ">", "2>&1", "&"):
                break
            elif each and "$" not in each and "{" not in each and self._is_there(each):
                kept.append(each)
        former = self.command[len(DEFAULT_COMMAND) :]
        if not self.command or not _is_of_some_tests(kept):
            self.command, self.directory = (*DEFAULT_COMMAND, *kept), self.here
        elif self.directory == self.here and former != tuple(kept) and _unmarked(former) == _unmarked(kept):
            self.command = (*DEFAULT_COMMAND, *_unmarked(kept))

    def _is_there(self, each: str) -> bool:
        """Whether an argument makes sense here: a path that looks like one has to exist, as what is built does not."""
        looks = not each.startswith("-") and ("/" in each or each.endswith(".py"))
        return not looks or self.files.place(self._at(each.partition("::")[0])) is not None

    def _at(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.here, path or "."))


def _is_of_some_tests(arguments: Words) -> bool:
    """Whether pytest runs files that are named, a mark that tests have to have, or the examples of one package's docstrings."""
    places = [each.partition("::")[0] for each in arguments if not each.startswith("-")]
    named = any(each.endswith((".py", ".rst", ".md", ".txt")) for each in places)
    examples = "--doctest-modules" in arguments and places and not any("test" in each for each in places)
    marked = any(option == "-m" and "not" not in value.split() for option, value in pairwise(arguments))
    return named or bool(examples) or marked


def _unmarked(arguments: Words) -> Words:
    """Arguments without the mark that they choose tests by."""
    at = arguments.index("-m") if "-m" in arguments else len(arguments)
    return [*arguments[:at], *arguments[at + 2 :]]


def _module_run(rest: list[str]) -> list[str]:
    """What an interpreter's arguments start: a module, a script, or nothing that is known."""
    while rest:
        if rest[0] == "-m":
            return rest[1:]
        if rest[0] in ("-W", "-X"):
            rest = rest[2:]
        elif rest[0].startswith("-"):
            rest = rest[1:] if rest[0] != "-c" else []
        else:
            return rest
    return []
