"""The commands behind a task: an environment of tox or hatch, a session of nox, a target of make, a script. Nothing is run."""

import ast
import itertools
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from workers.environments.metadata import USUAL_MINORS
from workers.environments.tree_files import Table, TreeFiles, assigned, ini, items, literal, strings, table, word

Commands = Iterator[Sequence[str]]

MAX_ENVIRONMENTS, MAX_SCRIPT, LONGEST_LINE = 500, 64 << 10, 16 << 10
MAX_PARTS, MAX_TARGETS, MAX_VALUES = 40, 100, 200
"""Of one name with braces, of one task with those that it needs, and put in the place of variables in one text."""

_TESTS = re.compile(r"(^|[-_.:])(tests?|pytest|unit\w*|py3?|py3\d+|ci|check)([-_.:]|$)", re.IGNORECASE)
_NAMES = re.compile(r"(?:[^,\s{}]|\{[^{}]*\})+")
_PYTHON_FACTOR = re.compile(r"py(?:thon)?3?\.?(\d*)")
_SEPARATORS = frozenset({"&&", ";", "||", "|", "(", ")", ";;"})
_INSTALLERS = frozenset({"install", "conda_install", "run", "run_always", "run_install"})


def commands_of(files: TreeFiles, here: str, program: str, arguments: Sequence[str]) -> Commands:
    """The commands that a program would start in a directory; none where it is not known."""
    pyproject = files.toml(posixpath.join(here, "pyproject.toml"))
    match program, [each for each in arguments if each not in ("run", "r", "run-parallel", "p")]:
        case "tox", given:
            yield from _tox(files, here, _option(given, "-e", "--env", "-re"))
        case "nox", given:
            yield from _nox(files, here, _option(given, "-s", "-e", "--session", "--sessions", "-rs"))
        case "hatch", given:
            yield from _hatch(files, here, pyproject, [each for each in given if not each.startswith(("-", "+"))])
        case "make", given:
            made = set[str]()
            for target in [each for each in given if "=" not in each and not each.startswith("-")] or ["all"]:
                yield from _make(files, here, target, made)
        case (("sh" | "bash"), [script, *_]):
            yield from shell_words(files.text(posixpath.join(here, script)))
        case (("poe" | "task" | "pdm"), [name, *_]):
            yield from _script(pyproject, name)
        case _:
            path = posixpath.join(here, program)
            scripts = [each for each in (path, posixpath.join(here, "scripts", program)) if not each.endswith(".py")]
            texts = [files.text(each, MAX_SCRIPT) for each in scripts]
            yield from _script(pyproject, program)
            yield from shell_words(next((text for text in texts if text.startswith("#!") and "sh" in text[:40]), ""))


def shell_words(script: str) -> Commands:
    """The simple commands of a shell script, as far as quoting goes; what cannot be read is passed over, as too long lines are.

    A command in backticks is left out, as one in `$(…)` ends the words before it.
    """
    joined = re.sub(r"\\\r?\n", " ", script)
    for line in re.sub(r"`[^`\n]*`", "$( )", joined).splitlines():
        if len(line) > LONGEST_LINE:
            continue
        lexer = shlex.shlex(line.strip(), posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        try:
            tokens = list(lexer)
        except ValueError:
            continue
        for separator, words in itertools.groupby(tokens, _SEPARATORS.__contains__):
            if not separator:
                yield list(words)


def _option(given: Sequence[str], *names: str) -> str:
    """The value of an option; empty where it is not given."""
    for each, following in itertools.pairwise([*given, ""]):
        name, equals, value = each.partition("=")
        if name in names:
            return value if equals else following
    return ""


def _script(pyproject: Table, name: str) -> Commands:
    """A task of pyproject.toml, as pdm, poe, taskipy and rye have them."""
    for tool, group in (("pdm", "scripts"), ("poe", "tasks"), ("taskipy", "tasks"), ("rye", "scripts")):
        yield from _task(table(pyproject, "tool", tool, group), name, set())


def _task(tasks: Table, name: str, seen: set[str]) -> Commands:
    seen.add(name)
    task = tasks.get(name)
    parts = table(task)
    chosen = parts.get("cmd") or parts.get("shell") or parts.get("sequence") or parts.get("composite") or task
    for each in items(chosen):
        for line in strings(each) or strings(table(each).get("cmd")):
            if line in tasks and line not in seen and len(seen) < MAX_TARGETS:
                yield from _task(tasks, line, seen)
            else:
                yield from shell_words(line)


# ── tox ──


def tox_environments(files: TreeFiles, here: str) -> list[str]:
    """The environments that tox would run, those for tests on a Python that is usual here first; `py` where it lists none."""
    sections, core = _tox_tables(files, here)
    listed = core.get("envlist") or core.get("env_list") or ""
    each_name = (each for part in _NAMES.findall(listed) for each in _braces(part) if each)
    names = dict.fromkeys(itertools.islice(each_name, MAX_ENVIRONMENTS * MAX_PARTS))
    return sorted(names or (["py"] if "testenv" in sections else []), key=_distance)[:MAX_ENVIRONMENTS]


def _distance(name: str) -> int:
    """How far the Python of an environment is from the one that is tried first; far for environments that test nothing."""
    python = _PYTHON_FACTOR.fullmatch(name.partition("-")[0])
    minor = f"3.{python[1]}" if python and python[1] else ""
    return USUAL_MINORS.index(minor) if minor in USUAL_MINORS else 50 if python or _TESTS.search(name) else 100


def _braces(text: str) -> Iterator[str]:
    """`py{310,311}-a` as its two names."""
    parts = [list(_choices(part)) for part in re.split(r"[{}]", text, maxsplit=MAX_PARTS)]
    choices = (["".join(each)] if number % 2 == 0 else each for number, each in enumerate(parts))
    yield from ("".join(each).strip() for each in itertools.islice(itertools.product(*choices), MAX_ENVIRONMENTS))


def _choices(text: str) -> Iterator[str]:
    """`38,310-312` as its four names; the first of very many."""
    names = (name for each in text.split(",") for name in _range(each))
    yield from itertools.islice(names, MAX_ENVIRONMENTS)


def _range(text: str) -> Iterable[str]:
    """`310-312` as its three names."""
    bounds = re.fullmatch(r"(\d{1,4})-(\d{1,4})", text)
    return map(str, range(int(bounds[1]), int(bounds[2]) + 1)) if bounds else [text]


def _filled(pattern: str, value: Callable[[re.Match[str]], str], text: str) -> str:
    """A text with its first variables replaced by their values; very long ones are cut."""
    return re.sub(pattern, lambda found: value(found)[:MAX_SCRIPT], text, count=MAX_VALUES)[:MAX_SCRIPT]


def _tox_tables(files: TreeFiles, here: str) -> tuple[Mapping[str, Mapping[str, str]], Mapping[str, str]]:
    """The sections of tox's configuration in the words of tox.ini, and the one of tox itself."""
    pyproject = files.toml(posixpath.join(here, "pyproject.toml"))
    tool = files.toml(posixpath.join(here, "tox.toml")) or table(pyproject, "tool", "tox")
    if legacy := word(tool.get("legacy_tox_ini")):
        sections = ini(legacy)
    elif tool:
        sections = {f"testenv:{name}": _as_ini(table(each)) for name, each in table(tool, "env").items()}
        sections |= {
            "testenv": _as_ini(table(tool, "env_run_base")),
            "tox": {"envlist": ",".join(strings(tool.get("env_list")))},
        }
    else:
        sections = files.ini(posixpath.join(here, "tox.ini")) or files.ini(posixpath.join(here, "setup.cfg"))
    return sections, sections.get("tox") or sections.get("tox:tox") or {}


def _as_ini(given: Table) -> dict[str, str]:
    def line(value: object) -> str:
        return shlex.join(strings(value)) if isinstance(value, list) else word(value)

    as_lists = {key: "\n".join(map(line, items(value))) for key, value in given.items()}
    return as_lists | {"set_env": "\n".join(f"{key}={word(value)}" for key, value in table(given, "set_env").items())}


def _tox(files: TreeFiles, here: str, wanted: str) -> Commands:
    sections, _ = _tox_tables(files, here)
    if not sections:
        return
    asked = [each for part in wanted.split(",") for each in _braces(part) if each and "$" not in each and each != "py"]
    name = min(asked or tox_environments(files, here) or ["py311"], key=_distance)
    factors = {*re.split(r"[-.]", name), name, *(["py311"] if name.startswith("py") else [])}
    alike = (value for key, value in sections.items() if key.startswith("testenv:") and name in _braces(key[8:]))
    merged = {**sections.get("testenv", {}), **(sections.get(f"testenv:{name}") or next(alike, {}))}

    def lines(*keys: str) -> list[str]:
        text = next((merged[key] for key in keys if merged.get(key)), "")
        whole = _kept(_referred(_kept(text, factors), sections), factors)
        return [line for each in whole.splitlines() if (line := _tox_line(each))]

    pairs = (each.partition("=") for each in lines("setenv", "set_env"))
    yield ["export", *(f"{key.strip()}={value.strip()}" for key, _, value in pairs if value)]
    extras = ",".join(re.split(r"[,\s]+", " ".join(lines("extras"))))
    if not lines("skip_install") and not lines("no_package"):
        yield ["pip", "install", "-e", f"./[{extras}]" if extras else "."]
    for group in " ".join(lines("dependency_groups")).split():
        yield ["pip", "install", "--group", group.strip(",")]
    for line in lines("deps"):
        words = re.sub(r"^(-[rce])", r"\1 ", line).split() if line.startswith(("-", ".")) else [line]
        yield ["pip", "install", *words]
    yield ["cd", (lines("changedir", "change_dir") or ["."])[0]]
    for line in (*lines("commands_pre"), *lines("commands")):
        yield from shell_words(_here_for_installed(files, here, line.lstrip("- ")))


def _here_for_installed(files: TreeFiles, here: str, line: str) -> str:
    """The package of the checkout in the place of its installed copy, where it lies at the root: it is installed as it is edited."""

    def found(match: re.Match[str]) -> str:
        return match[1] if files.names(posixpath.join(here, match[1])) else match[0]

    return re.sub(r"\{(?:envsitepackagesdir|env_site_packages_dir)\}/([\w.-]+)", found, line)


def _kept(text: str, factors: set[str]) -> str:
    """A value without its conditions, and without the lines that are about another environment, also within a command."""
    kept = filter(None, (_conditional(line, factors) for line in text.splitlines()))
    return re.sub(r"\\\n", " ", "\n".join(kept))


def _conditional(line: str, factors: set[str]) -> str:
    """A line without its condition; empty where that is about another environment."""
    condition = re.match(r"\s*([\w.!{},-]+):\s+(.*)|\s*([\w.!{},-]+):$", line)
    if not condition or not condition[1]:
        return line
    alternatives = _braces(f"{{{condition[1]}}}" if "{" not in condition[1] else condition[1])
    fits = any(
        all((part[1:] not in factors) if part[:1] == "!" else part in factors for part in each.split("-"))
        for each in alternatives
    )
    return condition[2] if fits else ""


def _referred(text: str, sections: Mapping[str, Mapping[str, str]]) -> str:
    """A value with those of other sections in it, which may have several lines."""
    return _filled(r"\{\[([^\]{}]+)\]([^{}]+)\}", lambda found: sections.get(found[1], {}).get(found[2], ""), text)


def _tox_line(line: str) -> str:
    """A line with its substitutions made."""
    line = re.sub(r"\{posargs:?([^{}]*)\}|\[\]$", r"\1", line.replace("{toxinidir}/", "").replace("{tox_root}/", ""))
    line = re.sub(r"\{env:\w++:?([^{}]*)\}", r"\1", re.sub(r"\{(toxinidir|tox_root)\}", ".", line))
    return re.sub(r"\{(?:envbindir|env_bin_dir)\}/", "", line).partition(" #")[0].strip()


# ── nox, hatch, make ──


def _nox(files: TreeFiles, here: str, wanted: str) -> Commands:
    module = files.module(posixpath.join(here, "noxfile.py"))
    names, sessions = assigned(module), dict[str, ast.FunctionDef]()
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        if any("session" in ast.dump(each) for each in node.decorator_list):
            made = (decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call))
            given = (each.value for call in made for each in call.keywords if each.arg == "name")
            sessions[word(literal(next(given, None), names)) or node.name] = node
    asked = re.split(r"[-(]\d|\(|,", wanted.strip("\"'"))[0]
    chosen = sessions.get(asked) or next((node for name, node in sessions.items() if _TESTS.search(name)), None)
    calls = [node for node in ast.walk(chosen) if isinstance(node, ast.Call)] if chosen else []
    for call in sorted(calls, key=lambda node: node.lineno):
        does = getattr(call.func, "attr", "")
        parts = (part.value if isinstance(part, ast.Starred) else part for part in call.args)
        words = [text for part in parts for text in strings(literal(part, names))]
        if words and does in _INSTALLERS:
            yield ["pip", "install", *words] if does in ("install", "conda_install") else words


def _hatch(files: TreeFiles, here: str, pyproject: Table, given: Sequence[str]) -> Commands:
    apart = files.toml(posixpath.join(here, "hatch.toml"))
    environments = table(pyproject, "tool", "hatch", "envs") or table(apart, "envs")
    environment, _, script = (given or ["test"])[0].rpartition(":")
    testing = (given or ["test"])[0] == "test" and not table(environments, "default", "scripts").get("test")
    environment = "hatch-test" if testing else environment.partition(".")[0] or "default"
    chosen = table(environments, environment)
    extras = ",".join(strings(chosen.get("features")))
    yield ["pip", "install", "-e", f"./[{extras}]", *(["pytest", "pytest-mock"] if testing else [])]
    for each in (table(environments, word(chosen.get("template")) or "default"), chosen):
        yield ["pip", "install", *strings(each.get("dependencies")), *strings(each.get("extra-dependencies"))]
        for group in strings(each.get("dependency-groups")):
            yield ["pip", "install", "--group", group]
    scripts = {**table(environments, "default", "scripts"), **table(chosen, "scripts")}
    if testing:
        yield ["pytest"]
    elif script in scripts:
        for line in strings(scripts[script])[:MAX_TARGETS]:
            expanded = strings(scripts.get(line.split()[0]))[:MAX_TARGETS] if line.split()[:1] != [script] else ()
            for part in expanded or (line,):
                yield from shell_words(re.sub(r"\{args:?([^{}]*)\}", r"\1", part))
    else:
        yield given


def _make(files: TreeFiles, here: str, target: str, made: set[str]) -> Commands:
    """The recipe of a target, after those of the targets that it needs; each is made once."""
    if target in made or len(made) >= MAX_TARGETS:
        return
    made.add(target)
    texts = (files.text(posixpath.join(here, each)) for each in ("Makefile", "makefile", "GNUmakefile"))
    text = re.sub(r"\\\r?\n", " ", next(filter(None, texts), ""))
    values = dict(re.findall(r"^([A-Za-z_]\w*)\s*[:?]?=[ \t]*(.*)$", text, re.MULTILINE))
    rule = re.search(rf"^{re.escape(target)}[ \t]*:(?!=)([^\n#]*+).*+\n((?:\t.*\n?|[ \t]*\n)*)", text, re.MULTILINE)
    if rule is None:
        return
    for needed in rule[1].split():
        yield from _make(files, here, needed, made)
    script = rule[2]
    for _ in range(3):
        script = _filled(r"\$[({]([A-Za-z_]\w*)[)}]", lambda found: values.get(found[1], ""), script)
    yield from shell_words(re.sub(r"^\s*[@-]+", "", script, flags=re.MULTILINE))
