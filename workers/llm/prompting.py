"""Prompts are files. This module reads them and fills them in; no user's text becomes part of a prompt."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

PROMPTS = Path(__file__).with_name("prompts")


def prompt(name: str, **values: str | int) -> str:
    """The prompt of this name with its placeholders filled in; raises KeyError for a missing value."""
    return _template(name).substitute(values).strip()


@cache
def _template(name: str) -> Template:
    return Template((PROMPTS / f"{name}.md").read_text(encoding="utf-8"))
