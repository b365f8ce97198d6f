"""What comes out of the sandbox is checked before it becomes a value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.model import Frame
from workers.sandbox import report
from workers.sandbox.report import LONGEST_EVENT, LONGEST_MESSAGE, TestOutcome, cut_short, decode

RESULT = {
    "event": "result",
    "id": "tests/test_a.py::test_x",
    "outcome": "failed",
    "seconds": 0.25,
    "type": "KeyError",
    "message": "'a'",
    "frames": [["tests/test_a.py", 3, "test_x"], ["src/a.py", 7, "get"]],
    "operands": ["1", "2"],
}


def lines(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_a_result_keeps_what_was_said() -> None:
    """Type, message, frames outermost first, and operands arrive."""
    (result,) = decode(lines(RESULT)).results.values()
    assert result.error_type == "KeyError"
    assert result.message == "'a'"
    assert result.frames == (
        Frame(path="tests/test_a.py", line=3, function="test_x"),
        Frame(path="src/a.py", line=7, function="get"),
    )
    assert result.operands == ("1", "2")


def test_a_long_id_is_one() -> None:
    """pytest shortens no text in an id, whatever its length."""
    name = f"tests/test_a.py::test_x[{'<p>' * 1000}]"
    assert decode(lines(RESULT | {"id": name})).results[name].outcome is TestOutcome.FAILED


@pytest.mark.parametrize(
    "change",
    [
        {"id": 3},
        {"id": "x" * 200_000},
        {"outcome": "fine"},
        {"seconds": -1},
        {"seconds": "1"},
        {"seconds": float("nan")},
        {"type": None},
        {"type": "Key\0Error"},
        {"type": "Key\ud800Error"},
        {"message": ["a"]},
        {"frames": "none"},
        {"frames": [["/etc/passwd", 1, "f"]]},
        {"frames": [["a/../../b.py", 1, "f"]]},
        {"frames": [["a\0b.py", 1, "f"]]},
        {"frames": [["a.py", 0, "f"]]},
        {"frames": [["a.py", 10**9, "f"]]},
        {"frames": [["a.py", 1]]},
        {"operands": [1]},
        {"event": "shutdown"},
    ],
)
def test_a_line_that_the_probe_would_not_write_is_dropped(change: dict[str, object]) -> None:
    """Wrong types, endless texts and paths that lead out of the checkout make no result, and are counted."""
    heard = decode(lines({**RESULT, **change}))
    assert heard.results == {}
    assert heard.damaged == 1


def test_a_line_that_is_too_long_is_dropped() -> None:
    """Its values would take twenty times its size, whatever is made of them."""
    start = b'{"event": "start", "more": [%s]}\n'
    assert decode(start % b"[]").sessions == 1
    heard = decode(start % (b"[]," * (LONGEST_EVENT // 3) + b"[]"))
    assert (heard.sessions, heard.damaged) == (0, 1)


def test_files_without_lines_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many as there may be lines: each is kept like one."""
    monkeypatch.setattr(report, "MAX_LINES", 20_000)
    many = {"event": "lines", "id": "a", "lines": {f"{number}": "" for number in range(5_000)}}
    heard = decode(lines(*[many | {"id": f"{number}"} for number in range(5)]))
    assert (len(heard.lines), heard.damaged) == (4, 1)


def test_long_messages_are_clipped() -> None:
    """A message is cut at its cap."""
    (result,) = decode(lines({**RESULT, "message": "x" * 100_000})).results.values()
    assert len(result.message) == LONGEST_MESSAGE


def test_the_line_that_was_being_written_at_the_end_is_no_damage() -> None:
    """A report cut in the middle of a line keeps everything before."""
    heard = decode(lines(RESULT) + b'{"event": "res')
    assert len(heard.results) == 1
    assert heard.damaged == 0


def test_a_failure_is_not_taken_back() -> None:
    """When one command runs pytest twice, a test that failed once has failed."""
    heard = decode(lines(RESULT, {**RESULT, "outcome": "passed"}))
    assert [result.outcome for result in heard.results.values()] == [TestOutcome.FAILED]


def test_what_was_running_when_the_run_was_cut_has_failed() -> None:
    """A test without a result gets the reason for the cut; one with a result keeps it."""
    running = [{"event": "running", "id": id_} for id_ in ("tests/test_a.py::test_x", "tests/test_a.py::test_y")]
    results = cut_short(decode(lines(*running, RESULT)), "Timeout", "too long")
    assert [(result.id, result.error_type) for result in results] == [
        ("tests/test_a.py::test_x", "KeyError"),
        ("tests/test_a.py::test_y", "Timeout"),
    ]


def test_executed_lines_are_unfolded() -> None:
    """Ranges become sets of lines for each test and file."""
    heard = decode(lines({"event": "lines", "id": "t", "lines": {"a.py": "3-5,9", "b.py": ""}}))
    assert heard.lines == {"t": {"a.py": frozenset({3, 4, 5, 9}), "b.py": frozenset()}}


@pytest.mark.parametrize("text", ["1-99999999", "5-", "-5", "a", "1-2-3", "1--2", "9-5", "²"])
def test_strange_ranges_are_dropped(text: str) -> None:
    """A range that is none, or that would fill memory, is damage."""
    heard = decode(lines({"event": "lines", "id": "t", "lines": {"a.py": text}}))
    assert (heard.lines, heard.damaged) == ({}, 1)


@given(st.binary(max_size=400))
def test_no_bytes_break_it(report: bytes) -> None:
    """Whatever is written to the pipe, decoding ends without an error and makes no result out of noise."""
    assert decode(report).results == {}


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=5,
    )
)
def test_no_value_in_any_field_breaks_it(value: object) -> None:
    """Each field may hold anything that JSON can say."""
    for field in RESULT:
        heard = decode(lines({**RESULT, field: value}))
        assert len(heard.results) + heard.damaged == 1
