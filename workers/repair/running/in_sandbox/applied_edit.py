"""The edit of a request, in its file while it is tried."""

from __future__ import annotations

from pathlib import Path

from .children import Message
from .codeswap import put


class AppliedEdit:
    """The edit of a request, in its file between `make` and `undo`. `request` has the text before it as `original`."""

    def __init__(self, root: str, request: Message) -> None:
        self._path = Path(root, request["path"]) if request["path"] else None
        self._original = self._path.read_bytes() if self._path else b""
        self.request = dict(request, original=self._original.decode())

    def make(self) -> None:
        """Write it; of several each is written when its turn comes."""
        if self._path is not None and not self.request["sources"]:
            put(self._path, self.request["source"].encode())

    def undo(self) -> None:
        if self._path is not None:
            put(self._path, self._original)
