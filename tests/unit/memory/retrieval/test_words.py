from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.index import WordIndex, best, fuse, terms

FAILURES = [
    "KeyError: 'unit_price' in shop.cart.Basket.total",
    "AttributeError: 'NoneType' object has no attribute 'strip' in parse_header",
    "ZeroDivisionError: division by zero in stats.mean",
]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("unit_price", ["unit", "price", "unit_price"]),
        ("parseHTTPHeader", ["parse", "http", "header", "parsehttpheader"]),
        ("shop.cart", ["shop", "cart"]),
        ("NoneType has no 'x2'", ["none", "type", "nonetype", "has", "no", "x", "2", "x2"]),
    ],
)
def test_terms_split_identifiers(text: str, parts: list[str]) -> None:
    """Snake, camel and dotted names are found by their parts and, where compound, as a whole."""
    assert terms(text) == parts


def test_bm25_finds_the_failure_that_shares_rare_names() -> None:
    """A query with the parts of a name, written differently, ranks its document first."""
    scores = WordIndex([terms(text) for text in FAILURES]).scores(terms("cart item has no unitPrice"))
    assert best(scores, 3)[0] == 0


def test_bm25_is_the_published_formula() -> None:
    """On one term, the score is idf * f / (f + k1 * (1 - b + b * length / mean length)): Lucene's, without a constant factor."""
    scores = WordIndex([["a", "a", "b"], ["b"]]).scores(["a"])
    assert scores[0] == pytest.approx(np.log(1 + 1.5 / 1.5) * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))
    assert scores[1] == 0.0


@pytest.mark.parametrize("documents", [[], [[]], [[], ["a"]]])
def test_bm25_takes_empty_documents(documents: list[list[str]]) -> None:
    """Nothing to search and empty documents give scores, not errors."""
    assert len(WordIndex(documents).scores(["a"])) == len(documents)


@given(st.lists(st.floats(-1, 1, width=32), max_size=40), st.integers(0, 50))
def test_best_is_the_head_of_the_full_sort(scores: list[float], k: int) -> None:
    """The partition gives exactly what sorting everything would, without what scores nothing."""
    array = np.array(scores, dtype=np.float32)
    ordered = sorted((row for row in range(len(scores)) if array[row] > 0), key=lambda row: (-array[row], -row))
    assert best(array, k) == ordered[:k]


def test_later_rows_win_ties() -> None:
    """The newest of equals comes first."""
    assert best(np.array([1.0, 2.0, 1.0, 0.0]), 3) == [1, 2, 0]


WORDS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=8), max_size=30)


@given(WORDS, WORDS, st.lists(st.sampled_from("abcdefgh"), max_size=5))
def test_adding_is_as_building(first: list[list[str]], second: list[list[str]], query: list[str]) -> None:
    """An index that grew gives the scores of one built at once."""
    grown = WordIndex(first)
    for document in second:
        grown.add(document)
    assert grown.scores(query).tolist() == WordIndex([*first, *second]).scores(query).tolist()


def test_fusion_follows_the_heavier_view_and_rewards_agreement() -> None:
    """First in every view is 1; where views disagree the heavier one wins; being listed twice beats being listed once."""
    fused = fuse([(2.0, ["a", "b", "c"]), (1.0, ["b", "a"])])
    assert fused["a"] > fused["b"] > fused["c"] > 0
    assert fuse([(2.0, ["a"]), (1.0, ["a"])]) == {"a": pytest.approx(1.0)}
