"""The commands about a repository's own history: learn from it, and see what that would have been worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bot.console import BAD_INPUT, AsJson, complain, notes, out, print_json, refusing
from workers.settings import WorkerSettings, load

if TYPE_CHECKING:
    from workers.context import Context
    from workers.history.learning import Progress as Told
    from workers.history.learning import Read

commands = typer.Typer()

Repository = Annotated[Path, typer.Argument(help="A git repository.", show_default=False)]
Most = Annotated[int, typer.Option(min=1, help="Changes to read at most, the latest ones.")]
Branch = Annotated[str, typer.Option(help="The branch or commit whose past it is.")]

MOST = 3000


@commands.command()
def learn(path: Repository, branch: Branch = "HEAD", most: Most = MOST, as_json: AsJson = False) -> None:
    """Read a repository's past: what became of the findings that nobody had said. Begun again, it goes on."""
    from workers.context import build

    with refusing():
        name, read = _learned(path, branch, most, build(load(WorkerSettings)))
    if as_json:
        print_json({"repository": name, **asdict(read)})
    else:
        out.print(
            f"{name}: read {read.changes} changes, and what became of {read.findings} findings in them", markup=False
        )


@commands.command()
def backtest(
    path: Repository,
    branch: Branch = "HEAD",
    most: Most = MOST,
    share: Annotated[float, typer.Option(min=0.1, max=0.9, help="The later part of the changes to be replayed.")] = 0.5,
    rule: Annotated[str | None, typer.Option(help="Only findings of this rule, or of a family such as `UP`.")] = None,
    png: Annotated[Path | None, typer.Option(help="Draw the learning curve into this file.", dir_okay=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Replay the later part of a repository's past as if the reviews had been ours, against other ways to choose."""
    from bot import backtested
    from bot.sheets import show
    from memory.history.backtest import TooLittle
    from memory.history.backtest import backtest as replayed
    from workers.context import build
    from workers.history.learning import settled

    with refusing():
        context = build(load(WorkerSettings))
        name, _ = _learned(path, branch, most, context)
        findings = [each for each in settled(context.store, name) if rule is None or each.rule.startswith(rule)]
    try:
        result = replayed(findings, share=share)
    except TooLittle as little:
        complain(f"{name}: {little}; read more with --most, or wait")
        raise typer.Exit(BAD_INPUT) from little
    if png is not None:
        backtested.draw(result, name, png)
    if as_json:
        print_json({"repository": name, **asdict(result)})
    else:
        show(backtested.sheets(result, name), out)


def _learned(path: Path, branch: str, most: int, context: Context) -> tuple[str, Read]:
    from bot.local import mirror_name, repository_name
    from workers.errors import BadInput
    from workers.history.learning import learn as read
    from workers.own_git import git_directory, local_commits, top_level

    directory = git_directory(path)
    if directory is None:
        raise BadInput(f"{path} is not a git repository; give the root of one")
    (tip,) = local_commits(directory, (branch,))
    root = top_level(path) or directory
    name, mirror = repository_name(path), context.local_mirror(root, mirror_name(root))
    mirror.fetch(tip)
    with _bar(f"reading {name}") as progress:
        return name, read(
            mirror.directory,
            name,
            store=context.store,
            sandbox=context.sandbox,
            tip=tip,
            most=most,
            progress=progress,
        )


@contextmanager
def _bar(doing: str) -> Iterator[Told]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("changes"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
