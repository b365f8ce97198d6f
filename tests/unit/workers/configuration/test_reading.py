"""What `.github/apprentice.yml` says, and what is wrong with it."""

from __future__ import annotations

import json
import random

import jsonschema_rs
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from memory.model import Severity
from workers.configuration.reading import MAX_BYTES, ConfigurationFile, configuration_of, read_configuration
from workers.configuration.schema import NOTHING_CHOSEN, RepositoryConfiguration, RuleChoice, RuleLevel, json_schema
from workers.review.detectors.detector import Category


def read(text: str) -> RepositoryConfiguration:
    """The configuration of a file without a mistake."""
    file = read_configuration(text.encode())
    assert file.mistakes == ()
    return configuration_of([file])


def mistakes(text: str) -> list[str]:
    return [str(each) for each in read_configuration(text.encode()).mistakes]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("test-command: python -m pytest tests/unit", "test_command", "python -m pytest tests/unit"),
        ("environment: {python: 3.12}", "environment.python", "3.12"),
        ("environment: {python: '3.9'}", "environment.python", "3.9"),
        ("environment: {extras: [test, my_extra]}", "environment.extras", ("test", "my_extra")),
        ("environment: {requirements: [requirements/ci.txt]}", "environment.requirements", ("requirements/ci.txt",)),
        ("paths: {include: ['src/**', a b]}", "paths.include", ("src/**", "a b")),
        ("paths: {exclude: [docs]}", "paths.exclude", ("docs",)),
        ("rules: {F401: off}", "rules", {"F401": RuleLevel.OFF}),
        ("rules: {no-redef: {severity: minor}}", "rules", {"no-redef": RuleChoice(severity=RuleLevel.MINOR)}),
        ("rules: {style: {only: [src]}}", "rules", {"style": RuleChoice(only=("src",))}),
        ("minimum-severity: major", "minimum_severity", Severity.MAJOR),
        ("limits: {repair-seconds: 30}", "limits.repair_seconds", 30),
        ("limits: {comments: 0}", "limits.comments", 0),
        ("reviews: {opened: false}", "reviews.opened", False),
        ("reviews: {pushes: False}", "reviews.pushes", False),
        ("reviews: {drafts: true}", "reviews.drafts", True),
        ("reviews: {forks: false}", "reviews.forks", False),
        ("reviews: {skip-labels: [no review]}", "reviews.skip_labels", ("no review",)),
        ("reviews: {skip-authors: ['dependabot[bot]']}", "reviews.skip_authors", ("dependabot[bot]",)),
        ("issues: {locate: true}", "issues.locate", True),
        ("silent: true", "silent", True),
    ],
)
def test_each_key(text: str, key: str, value: object) -> None:
    """Each key is read as its type, and changes nothing else."""
    found: object = read(text)
    *above, last = key.split(".")
    expected: object = NOTHING_CHOSEN
    for name in above:
        found, expected = getattr(found, name), getattr(expected, name)
    assert getattr(found, last) == value
    assert msgspec.structs.replace(expected, **{last: value}) == found  # type: ignore[type-var]


def test_every_key_is_tried() -> None:
    """The table above has a row for each key of the schema."""
    names = set()
    for field in msgspec.structs.fields(RepositoryConfiguration):
        inner = getattr(NOTHING_CHOSEN, field.name)
        within = [each.name for each in msgspec.structs.fields(inner)] if isinstance(inner, msgspec.Struct) else []
        names |= {f"{field.name}.{each}" for each in within} or {field.name}
    assert table() == names


def table() -> set[str]:
    """The keys of the table above."""
    (rows,) = (mark for mark in test_each_key.pytestmark if mark.name == "parametrize")  # type: ignore[attr-defined]
    return {key for _, key, _ in rows.args[1]}


@pytest.mark.parametrize(
    "text",
    [
        *("", "---\n", "# nothing\n", "paths:\nrules: ~\n", "silent: null", "NULL", "test-command: Null"),
        *("rules: {F401: NULL}", "rules: {F401: 'nULL'}", "limits: {comments: 'null'}"),
    ],
)
def test_an_empty_file_chooses_nothing(text: str) -> None:
    """Nor does a key without a value, however YAML spells that."""
    assert read(text) == NOTHING_CHOSEN


def test_mistakes_name_their_place_and_what_is_meant() -> None:
    """Each has line and column, and the nearest key or value; what is right beside them counts."""
    text = """\
test_command: pytest
test-command: python -m pytest
test-command: false
environment:
  python: 2.7
  requirements: [test.txt, ../secret.txt]
paths:
  exclude: docs
  inclued: [src]
rules:
  F401: of
  "8": off
  S101: off
  security: {only: [src]}
  B006: {severity: minor, onyl: [src]}
minimum-severity: mayor
limits: {repair-seconds: 1, comments: many}
reviews: [opened]
silent: yes
"""
    assert mistakes(text) == snapshot(
        [
            "line 1, column 1: 'test_command' is no key; did you mean test-command?",
            "line 3, column 1: 'test-command' occurs twice; the first counts, remove this one",
            "line 5, column 11: environment.python: expected a Python version such as 3.12",
            "line 6, column 28: environment.requirements: expected a list of files such as [requirements/test.txt]",
            "line 8, column 12: paths.exclude: expected a list of path patterns such as [docs, '*_pb2.py']",
            "line 9, column 3: 'inclued' is no key of paths; did you mean include?",
            "line 11, column 9: rules.F401: expected one of off, info, minor, major, critical; did you mean off?",
            "line 12, column 3: '8' is no name of a rule; write it as F401, F or style",
            "line 13, column 9: rules.S101: findings about security cannot be left out",
            "line 14, column 13: rules.security: findings about security cannot be left out",
            "line 15, column 27: 'onyl' is no key of rules.B006; did you mean only?",
            "line 16, column 19: minimum-severity: expected one of info, minor, major, critical; did you mean major?",
            "line 17, column 26: limits.repair-seconds: expected a number of at least 10",
            "line 17, column 39: limits.comments: expected a number of at least 0",
            "line 18, column 10: expected keys with values of reviews, as `key: value`",
            "line 19, column 9: silent: expected true or false",
        ]
    )
    found = configuration_of([read_configuration(text.encode())])
    assert found == RepositoryConfiguration(
        test_command="python -m pytest", rules={"B006": RuleChoice(severity=RuleLevel.MINOR)}
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n", snapshot(["line 1, column 1: expected keys with values, as `key: value`"])),
        ("just text\n", snapshot(["line 1, column 1: expected keys with values, as `key: value`"])),
        (
            "paths: {\n",
            snapshot(["line 2, column 1: not valid YAML: expected the node content, but found '<stream end>'"]),
        ),
        ("a: &a [x]\nb: *a\n", snapshot(["line 1, column 4: anchors and aliases are not read; write the value out"])),
        ("silent: !!python/object:os.system x\n", snapshot(["line 1, column 9: tags are not read; remove it"])),
        ("? [a]\n: b\n", snapshot(["line 1, column 3: this is no key"])),
        (
            'silent: "a\\u202eb"\n',
            snapshot(["line 1, column 9: silent: expected printable text of at most 300 characters"]),
        ),
        ("[" * 50, snapshot(["line 1, column 7: nested deeper than 6 levels"])),
        ("a: b\x00\n", snapshot(["line 1, column 1: not valid YAML: it holds characters that are not allowed"])),
        ('a: "\\UFFFFFFFF"', snapshot(["line 1, column 1: not valid YAML: it holds a value that cannot be read"])),
        ('a: "\\U00110000"', snapshot(["line 1, column 1: not valid YAML: it holds a value that cannot be read"])),
        (
            "%YAML " + "9" * 5_000,
            snapshot(["line 1, column 1: not valid YAML: it holds a value that cannot be read"]),
        ),
        ("---\na: b\n---\nc: d\n", snapshot(["line 3, column 1: not valid YAML: but found another document"])),
        (
            "test-command: " + "x" * 400,
            snapshot(["line 1, column 15: test-command: expected printable text of at most 300 characters"]),
        ),
        (
            "paths: {exclude: [[a]]}",
            snapshot(["line 1, column 19: paths.exclude: expected a list of path patterns such as [docs, '*_pb2.py']"]),
        ),
    ],
)
def test_a_file_that_is_wrong_as_a_whole(text: str, expected: list[str]) -> None:
    """One mistake, with its place, and nothing of it counts."""
    assert mistakes(text) == expected
    assert configuration_of([read_configuration(text.encode())]) == NOTHING_CHOSEN


def test_a_file_that_is_no_text() -> None:
    """The line of the first byte that is none; a file that is too large is not read at all."""
    assert [str(each) for each in read_configuration(b"a: b\n\xff").mistakes] == snapshot(
        ["line 2, column 1: the file is not UTF-8; save it as UTF-8"]
    )
    assert [str(each) for each in read_configuration(b"#" * (MAX_BYTES + 1)).mistakes] == snapshot(
        ["line 1, column 1: the file is over 20,000 bytes"]
    )


def test_a_later_file_wins_key_by_key() -> None:
    """A list is one key, and so is a rule; what only the earlier one says stays."""
    owner = "paths: {include: [src], exclude: [docs]}\nrules: {F401: off, E501: off}\nsilent: true"
    own = "paths: {exclude: [old]}\nrules: {F401: {only: [src]}}\nsilent: false"
    found = configuration_of(read_configuration(each.encode()) for each in (owner, own))
    assert (found.paths.include, found.paths.exclude, found.silent) == (("src",), ("old",), False)
    assert found.rules == {"F401": RuleChoice(only=("src",)), "E501": RuleLevel.OFF}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("paths: {include: ['./src/**']}", "paths.include: write 'src/**', without `.`"),
        ("paths: {include: [./src]}", "paths.include: write '/src', without `.`"),
        ("paths: {exclude: [/]}", "paths.exclude: '/' holds no name; write ** for every file"),
        ("paths: {exclude: [., docs]}", "paths.exclude: '.' holds no name; write ** for every file"),
        ("rules: {F401: {only: ['!src']}}", "rules.F401.only: no pattern begins with !; list the paths that are meant"),
        ("rules: {f401: off}", "'f401' is no name of a rule; did you mean F401?"),
        ("rules: {styel: off}", "'styel' is no name of a rule; did you mean style?"),
        ("rules: {Security: off}", "'Security' is no name of a rule; did you mean security?"),
    ],
)
def test_what_would_match_nothing_or_everything(text: str, expected: str) -> None:
    """A pattern or a name of a rule that cannot mean what it seems to is a mistake, with what to write."""
    (mistake,) = mistakes(text)
    assert mistake.partition(": ")[2] == expected


@pytest.mark.parametrize("name", ["F401", "F", "PLR0912", "no-redef", "semi", "misc", "invalid-syntax", *Category])
def test_rules_of_any_tool(name: str) -> None:
    """Codes, their prefixes, every category, and what tools without codes call their rules."""
    assert read(f"rules: {{{name}: minor}}").rules == {name: RuleLevel.MINOR}


KEYS = st.sampled_from(
    sorted(
        {
            *json_schema()["$defs"]["RepositoryConfiguration"]["properties"],
            "python",
            "exclude",
            "F401",
            "severity",
            "only",
        }
    )
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(content: bytes) -> None:
    """Whatever the file is, it is read: what counts is a configuration, and each mistake has a place."""
    holds(read_configuration(content))


@given(TREES)
def test_any_yaml(tree: object) -> None:
    """So is any tree, with keys of ours among its own."""
    holds(read_configuration(yaml.safe_dump(tree).encode()))


ODD = [
    *("NULL", "Null", "~", "'null'", "'nULL'", "TRUE", "'0'", "0x1F", "1e3", "1_000", "-0", ".inf", ".NaN", "''"),
    *("1.0", "12345678901234567890123", "2026-01-01", "[]", "{}", "[NULL]", "['null']", "off", "3.10", '"\\n"'),
]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("key", [*sorted(table()), "rules.F401", "rules.F401.severity", "rules.F401.only"])
def test_any_scalar_anywhere(key: str, value: str) -> None:
    """What is taken as the value of one key is a configuration as a whole, so that no job fails for it."""
    text = value
    for name in reversed(key.replace("_", "-").split(".")):
        text = f"{{{name}: {text}}}"
    holds(read_configuration(text.encode()))


def holds(file: ConfigurationFile) -> None:
    assert isinstance(configuration_of([file]), RepositoryConfiguration)
    assert configuration_of([file, file]) == configuration_of([file])
    assert all(each.line >= 1 and each.column >= 1 and "\n" not in str(each) for each in file.mistakes)


@given(st.integers())
def test_the_schema_describes_what_is_read(seed: int) -> None:
    """What is read is valid by the published schema; wrong types and unknown keys are not."""
    schema = jsonschema_rs.validator_for(json_schema())
    document = json.loads(msgspec.json.encode(made(seed)))
    assert schema.is_valid(document)
    assert not schema.is_valid({**document, "silnet": True})
    assert not schema.is_valid({**document, "rules": {"F401": "of"}})
    assert not schema.is_valid({**document, "environment": {"python": "2.7"}})


def made(seed: int) -> RepositoryConfiguration:
    """A configuration that says something about most keys."""
    choose = random.Random(seed)
    plain = [
        "severity: minor, only: [src/**]",
        "severity: off",
    ]
    lines = [
        f"test-command: python -m pytest -k {choose.randrange(9)}",
        f"environment: {{python: 3.{choose.randrange(7, 15)}, extras: [test]}}",
        f"rules: {{F401: off, style: {{{choose.choice(plain)}}}}}",
        f"limits: {{comments: {choose.randrange(40)}}}",
        f"reviews: {{drafts: {choose.choice(['true', 'false'])}}}",
    ]
    return read("\n".join(choose.sample(lines, choose.randrange(len(lines)))))


@pytest.mark.slow
@given(st.integers())
def test_round_trip(seed: int) -> None:
    """A configuration that is written as YAML is read as the same."""
    configuration = made(seed)
    assert read(yaml.safe_dump(msgspec.to_builtins(configuration))) == configuration
