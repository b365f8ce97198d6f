"""What is kept of a stream without end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workers.sandbox.supervise import FLOOD_FACTOR, ClippedStream, ReportBuffer


@given(st.lists(st.binary(max_size=50)), st.integers(min_value=2, max_value=100))
def test_a_clipped_stream_keeps_both_ends(pieces: list[bytes], cap: int) -> None:
    """However it comes in pieces, its first and last halves of the cap are kept and what is missing is counted."""
    stream = ClippedStream(cap=cap)
    for piece in pieces:
        stream.add(piece)
    whole = b"".join(pieces)
    half = cap // 2
    if len(whole) <= 2 * half:
        assert stream.text() == whole.decode("utf-8", "replace")
    else:
        missing = len(whole) - 2 * half
        note = f"\n[… {missing} bytes left out …]\n".encode()
        assert stream.text() == (whole[:half] + note + whole[-half:]).decode("utf-8", "replace")
    assert len(stream.tail) <= 2 * cap + 50


def test_a_flood_is_told() -> None:
    """A stream may exceed its cap, but not without end."""
    stream = ClippedStream(cap=10)
    assert all(stream.add(b"x" * 10) for _ in range(FLOOD_FACTOR))
    assert not stream.add(b"x")


def test_a_report_is_whole_or_too_long() -> None:
    """A report is never clipped: reaching its cap is told."""
    report = ReportBuffer(cap=10)
    assert report.add(b"12345")
    assert not report.add(b"678901234")
    assert bytes(report.content) == b"1234567890"
