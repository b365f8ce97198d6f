"""The prompts, which are files: read here, filled in, and never built from anybody's words."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

PROMPTS = Path(__file__).with_name("prompts")


def prompt(name: str, **values: str | int) -> str:
    """The prompt of this name with its places filled in; raises KeyError for a place that was not."""
    return _template(name).substitute(values).strip()


@cache
def _template(name: str) -> Template:
    return Template((PROMPTS / f"{name}.md").read_text(encoding="utf-8"))
