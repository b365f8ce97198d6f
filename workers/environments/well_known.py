"""What is well known of names of tools, modules, fixtures and options: data, in well_known.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


def well_known(section: str) -> Mapping[str, Any]:
    """One section of well_known.toml."""
    found: Mapping[str, Any] = _tables()[section]
    return found


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("well_known.toml").read_text(encoding="utf-8"))
