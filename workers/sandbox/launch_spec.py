"""What the launcher is told: one JSON value, made on the host."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from workers.errors import BadInput
from workers.ports import Workload

REPORT_VARIABLE = "APPRENTICE_REPORT_FD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Where the launcher finds and puts things, as it sees them.

    `first`: it is the first process of a namespace. `user` is whom to become, None to stay who it is; `processes` is None where the host's own would be counted too.
    """

    workload: Workload
    source: Path
    workspace: Path
    home: Path
    user: int | None
    processes: int | None
    first: bool
    environment: dict[str, str]
    report: int

    def encoded(self) -> bytes:
        """As launcher.py reads it. Raises BadInput for an overlay path that leads out of the checkout."""
        limits = self.workload.limits
        order = {
            "source": str(self.source),
            "workspace": str(self.workspace),
            "own": [str(self.workspace), str(self.home)],
            "uid": self.user,
            "first": self.first,
            "overlay": {_inner(path): _text(content) for path, content in self.workload.overlay.items()},
            "environment": {**self.environment, REPORT_VARIABLE: str(self.report)},
            "command": list(self.workload.command),
            "limits": {
                "cpu_seconds": limits.cpu_seconds,
                "memory_mb": limits.memory_mb,
                "processes": self.processes,
                "disk_mb": limits.disk_mb,
            },
        }
        return json.dumps(order).encode()


def _inner(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise BadInput(f"{path!r} leads out of the checkout: name a file inside it")
    return str(pure)


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")
