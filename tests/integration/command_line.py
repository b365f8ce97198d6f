"""The command line, in this process or in one of its own, and small projects for it to work on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from bot.cli.main import app
from tests.json_contracts import undocumented
from tests.projects import PYPROJECT

ROOT = Path(__file__).parents[2]

TILL = '''"""A till and what is paid into it."""

from shop.prices import price_of


class Till:
    """Amounts in cents."""

    def __init__(self):
        self.sales = []

    def sell(self, name, count=1):
        """Note a sale."""
        if count < 1:
            raise ValueError("nothing to sell")
        self.sales.append((name, count))

    def total(self):
        """What all sales come to."""
        return sum(price_of(name) * count for name, count in self.sales)

    def discount(self):
        """A tenth off from 100.00 on."""
        if self.total() > 10000:
            return self.total() // 10
        return 0

    def change(self, paid):
        """What is to be given back."""
        return paid - self.total() + self.discount()
'''
"""With a bug: a total of exactly 100.00 gets no discount."""

SHOP = {
    "pyproject.toml": PYPROJECT,
    "shop/__init__.py": "",
    "shop/prices.py": '''"""Prices in cents."""

PRICES = {"tea": 250, "cake": 400, "kettle": 10000}


def price_of(name):
    """The price of a thing."""
    return PRICES[name]
''',
    "shop/till.py": TILL,
    "tests/test_till.py": """import pytest

from shop.till import Till


def till(*sales):
    filled = Till()
    for name, count in sales:
        filled.sell(name, count)
    return filled


def test_total():
    assert till(("tea", 2), ("cake", 1)).total() == 900


def test_no_discount_on_little():
    assert till(("tea", 2)).discount() == 0


def test_discount_on_much():
    assert till(("kettle", 2)).discount() == 2000


def test_discount_from_a_hundred_on():
    assert till(("kettle", 1)).discount() == 1000


def test_no_discount_below_a_hundred():
    assert till(("tea", 39)).discount() == 0


def test_change():
    assert till(("tea", 2)).change(1000) == 500


def test_nothing_is_no_sale():
    with pytest.raises(ValueError, match="nothing"):
        till(("tea", 0))
""",
}
SOUND = SHOP | {"shop/till.py": TILL.replace("> 10000", ">= 10000")}

TICKETS = {
    "pyproject.toml": PYPROJECT,
    "tickets.py": '''"""Who travels for how much."""


def fare(age, distance):
    """In cents: 20 a kilometre, half for children and from 65 on."""
    full = 20 * distance
    if age < 14 or is_old(age):
        return full // 2
    return full


def is_old(age):
    """From 65 on."""
    return age > 65


def group_fare(ages, distance):
    """All together; the dearest goes free in groups of more than five."""
    fares = [fare(age, distance) for age in ages]
    free = max(fares) if len(fares) > 5 else 0
    return sum(fares) - free
''',
    "test_tickets.py": """from tickets import fare, group_fare


def test_children():
    assert (fare(13, 10), fare(14, 10)) == (100, 200)


def test_grown():
    assert fare(64, 10) == 200


def test_old():
    assert fare(70, 10) == 100


def test_from_65_on():
    assert fare(65, 10) == 100


def test_groups():
    assert group_fare([30, 40], 10) == 400
    assert group_fare([30, 40, 50, 30, 40, 13], 10) == 900
""",
}
"""Another project with a bug of the same kind: who is 65 pays in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended."""

    command: str
    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """Standard output, which has to be JSON and nothing else, with documented keys alone."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        unknown = undocumented(self.command, parsed)
        assert not unknown, f"give these keys a place in docs/commands.md: {sorted(unknown)}"
        return parsed

    def complaint(self) -> str:
        """The one line on standard error, which has to be alone."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("apprentice: "), self.err
        return lines[0].removeprefix("apprentice: ")


def environment(home: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Ours without any setting, with state under `home` and what is given. Memory is by words: PyTorch takes seconds."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("APPRENTICE_")}
    chosen = {"APPRENTICE_HOME": str(home), "APPRENTICE_CONTROL_SHARE": "0", "APPRENTICE_EMBEDDER": "words"}
    return inherited | chosen | given


def apprentice(home: Path, *arguments: str | Path, **given: str) -> Ran:
    """Run `apprentice` with these arguments and variables in this process."""
    wanted = environment(home, given)
    changes = dict.fromkeys(name for name in os.environ if name not in wanted) | wanted
    ended = CliRunner().invoke(app, [str(each) for each in arguments], env=changes, prog_name="apprentice")
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return Ran(command=str(arguments[0]), code=ended.exit_code, out=ended.stdout, err=ended.stderr)


def apprentice_process(home: Path, *arguments: str | Path, **given: str) -> Ran:
    """Run `apprentice` with these arguments and variables as a process of its own, as users do."""
    done = subprocess.run(
        [sys.executable, "-m", "bot.cli", *map(str, arguments)],
        cwd=ROOT,
        env=environment(home, given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(command=str(arguments[0]), code=done.returncode, out=done.stdout, err=done.stderr)


def untimed(text: str) -> str:
    """The text with every time in seconds as `# s`."""
    return re.sub(r"\b\d+(\.\d+)? s\b", "# s", text)


def written(at: Path, files: Mapping[str, str]) -> Path:
    """Write files below a directory."""
    for name, text in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return at


def git(at: Path, *arguments: str) -> str:
    """Run git as a user would, with no configuration but the repository's."""
    identity = ("-c", "user.name=maya", "-c", "user.email=maya@example.com", "-c", "init.defaultBranch=main")
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "HOME": str(at)}
    done = subprocess.run(["git", *identity, *arguments], cwd=at, env=quiet, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(at: Path, files: Mapping[str, str]) -> Path:
    """Write files into a repository, which is made if it is not there, and commit them."""
    written(at, files)
    if not (at / ".git").exists():
        git(at, "init", "--quiet")
    git(at, "add", "--all")
    git(at, "commit", "--quiet", "--message", "a change")
    return at


def digest(tree: Path) -> str:
    """The identity of everything below a directory: names, kinds, modes, contents."""
    total = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        total.update(f"{path.relative_to(tree)} {path.lstat().st_mode:o}\n".encode())
        total.update(content(path))
    return total.hexdigest()


def content(path: Path) -> bytes:
    if path.is_symlink():
        return str(path.readlink()).encode()
    return path.read_bytes() if path.is_file() else b""


def names(tree: Path) -> Iterator[str]:
    """Every file below a directory."""
    return (path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*")) if path.is_file())
