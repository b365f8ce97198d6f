from __future__ import annotations

from benchmarks.reviewing import Span, nearest


def test_the_span_nearest_in_both_sizes_is_taken() -> None:
    """Twice as many files are as far as half as many; a span that fits one size alone loses to one that nearly fits both."""
    spans = [
        Span(commits=1, files=1, lines=2_000),
        Span(commits=2, files=40, lines=2_500),
        Span(commits=3, files=50, lines=90_000),
    ]
    assert nearest(spans, files=50, lines=2_000).commits == 2
    assert nearest([Span(commits=1, files=0, lines=0)], files=50, lines=2_000).commits == 1
