"""What the repository's own file does to findings and paths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.model import Finding, Severity
from workers.configuration.reading import configuration_of, read_configuration
from workers.configuration.schema import is_under

FINDING = Finding(
    fingerprint="f",
    path="src/app/a.py",
    line=1,
    end_line=1,
    tool="ruff",
    rule="F401",
    category="maintainability",
    severity=Severity.MINOR,
    message="unused",
    anchor="import os",
)


def kept(text: str, **changes: object) -> str:
    """The severity that a finding has under a file; `none` where it is left out."""
    file = read_configuration(text.encode())
    found = configuration_of([file]).kept(replace(FINDING, **changes))  # type: ignore[arg-type]
    return str(found.severity) if found else "none"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "minor"),
        ("rules: {F401: off}", "none"),
        ("rules: {F4: off}", "none"),
        ("rules: {F: off}", "none"),
        ("rules: {maintainability: off}", "none"),
        ("rules: {F5: off, E: off, style: off, F4011: off}", "minor"),
        ("rules: {F: off, F401: major}", "major"),
        ("rules: {F4: info, F: off}", "info"),
        ("rules: {F401: info}\nminimum-severity: minor", "none"),
        ("rules: {F401: major}\nminimum-severity: major", "major"),
        ("minimum-severity: major", "none"),
        ("rules: {F401: {only: [src]}}", "minor"),
        ("rules: {F401: {only: [lib]}}", "none"),
        ("rules: {F401: {severity: critical, only: ['**/app']}}", "critical"),
        ("paths: {exclude: ['*.py']}", "none"),
        ("paths: {include: [lib]}", "none"),
        ("paths: {include: [src], exclude: [src/lib]}", "minor"),
    ],
)
def test_a_finding(text: str, expected: str) -> None:
    """The most exact name of its rule counts, then the floor and the paths."""
    assert kept(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "rules: {F401: off}",
        "rules: {maintainability: off, F401: {only: [lib]}}",
        "rules: {F401: info}",
        "minimum-severity: critical",
        "paths: {exclude: ['**']}",
    ],
)
def test_what_no_file_leaves_out(text: str) -> None:
    """A security finding and a critical one stay, at their severity, whatever a file says; it may raise them."""
    assert kept(text, category="security", severity=Severity.MINOR) == "minor"
    assert kept(text, severity=Severity.CRITICAL) == "critical"
    assert kept("rules: {F401: major}", category="security", severity=Severity.MINOR) == "major"


def test_a_prefix_is_of_one_family() -> None:
    """`E` is about E501, and not about ERA001."""
    assert kept("rules: {E: off}", rule="E501") == "none"
    assert kept("rules: {E: off}", rule="ERA001") == "minor"


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("docs", "docs/a/b.py", "src/docs.py"),
        ("docs/", "a/docs/b.py", "docs.py"),
        ("*_pb2.py", "a/b/c_pb2.py", "a/b_pb2.pyi"),
        ("/docs/*.py", "docs/a.py", "docs/a/b.py"),
        ("src/**/test_*.py", "src/test_a.py", "test_a.py"),
        ("src/**/test_*.py", "src/a/b/test_a.py", "src/a/b.py"),
        ("src/**", "src/a/b.py", "src2/a.py"),
        ("**/gen", "a/b/gen/c.py", "a/gen.py"),
        ("a/*/c", "a/b/c/d.py", "a/c/d.py"),
        ("[ab].py", "x/a.py", "c.py"),
        ("**", "a.py", ""),
    ],
)
def test_patterns(pattern: str, inside: str, outside: str) -> None:
    """As `.gitignore` has them: a directory counts for all below it, `**` for any directories."""
    assert is_under(inside, [pattern])
    assert not outside or not is_under(outside, [pattern])


def test_many_stars_take_no_time() -> None:
    """The time of a match grows with pattern and path, not with the ways to match: this ends."""
    pattern, path = "/".join(["**", "*a*a*a*a*a*b"] * 12), "/".join(["a" * 200] * 100)
    assert not is_under(path, [pattern[:200]])
