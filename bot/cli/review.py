"""`apprentice review`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import AsJson, notes, out, print_json, refusing, worker_settings


def review(
    path: Annotated[Path, typer.Argument(help="Root of a Python project.", show_default=False)],
    base: Annotated[str, typer.Option(help="The commit that the change starts from.", show_default=False)],
    head: Annotated[str, typer.Option(help="The commit that the change ends at.")] = "HEAD",
    as_json: AsJson = False,
) -> None:
    """Review the change from BASE to HEAD of a git repository, and try out every suggestion."""
    from bot import local
    from bot.cli import json_output, text_output
    from workers.context import open_context

    with refusing():
        context = open_context(worker_settings(), progress=text_output.Progress(notes))
        result = local.review(path, context, base=base, head=head)
    if as_json:
        print_json(json_output.reviewed(result))
    else:
        text_output.reviewed(result, out)
