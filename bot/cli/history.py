"""`apprentice learn` and `backtest`: learn from a repository's history, and replay it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import AsJson, command_context, notes, print_page, refuse, refusing
from workers.errors import BadInput

if TYPE_CHECKING:
    from workers.context import Context
    from workers.git import Mirror
    from workers.history.forecast import HistoryForecast
    from workers.history.learn import LearnedHistory
    from workers.history.learn import Progress as ReportProgress

Repository = Annotated[Path, typer.Argument(help="A git repository.", show_default=False)]
Most = Annotated[int, typer.Option(min=1, help="Changes to read at most, the latest ones.")]
Branch = Annotated[str, typer.Option(help="The branch or commit whose history to read.")]

MOST = 3000


def learn(path: Repository, branch: Branch = "HEAD", most: Most = MOST, as_json: AsJson = False) -> None:
    """Learn from a repository's history which findings developers fixed on their own, and show what reviews will post.

    Resumes where it stopped.
    """
    from bot.cli import history_output

    with refusing():
        context = command_context()
        name, tip, mirror, read = _learned(path, branch, most, context)
        found = _forecast(name, tip, mirror, context)
    share = context.settings.control_share
    document = history_output.learned_json(name, read, found, share)
    print_page(document, lambda: history_output.learned_page(name, str(path), read, found, share), as_json=as_json)


def _forecast(name: str, tip: str, mirror: Mirror, context: Context) -> HistoryForecast:
    from memory.plain_yaml import BadYaml
    from workers.flows.reviewed_change import known_lessons, learnings_of
    from workers.history.forecast import PostingRules, history_forecast
    from workers.history.learn import asked_rules, settled

    try:
        learnings = learnings_of(mirror, tip, context)
    except BadYaml as error:
        raise BadInput(f"the learnings of {name}: {error}") from error
    rules, present = asked_rules(partial(mirror.read, tip), context.sandbox), frozenset(mirror.paths(tip))
    deciding = PostingRules(
        learner=context.learner,
        repository=name,
        lessons=known_lessons(name, context),
        learnings=learnings,
        slots=context.settings.max_comments,
        options=rules.options,
    )
    used = context.settings.learn_changes > 0
    return history_forecast(settled(context.store, name), rules, deciding, present, used=used)


def backtest(
    path: Repository,
    branch: Branch = "HEAD",
    most: Most = MOST,
    share: Annotated[float, typer.Option(min=0.1, max=0.9, help="The later part of the changes to replay.")] = 0.5,
    rule: Annotated[str | None, typer.Option(help="Only findings of this rule, or of a family such as `UP`.")] = None,
    all_rules: Annotated[
        bool,
        typer.Option("--all-rules", help="Every rule of ruff and bandit, not only those that reviews here ask for."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replay the later part of a repository's history, and conclude whether learning helps here."""
    from bot.cli import backtest_output
    from memory.history.backtest import HistoryTooShort
    from memory.history.backtest import backtest as replayed
    from workers.history.learn import asked_rules, settled

    with refusing():
        context = command_context()
        name, tip, mirror, _ = _learned(path, branch, most, context)
        rules = asked_rules(partial(mirror.read, tip), context.sandbox)
    findings = [
        each
        for each in settled(context.store, name)
        if (all_rules or rules.reported(each) is not None) and (rule is None or each.rule.startswith(rule))
    ]
    try:
        result = replayed(findings, share=share)
    except HistoryTooShort as little:
        refuse(backtest_output.too_short(name, little, all_rules=all_rules), little)
    document = {"repository": name, "all_rules": all_rules, **asdict(result)}
    print_page(document, lambda: backtest_output.backtest_page(name, result, all_rules=all_rules), as_json=as_json)


def _learned(path: Path, branch: str, most: int, context: Context) -> tuple[str, str, Mirror, LearnedHistory]:
    from bot.local import mirror_name, repository_name
    from workers.history.learn import learn as read
    from workers.home import scratch
    from workers.work_tree import git_directory, local_commits, top_level

    directory = git_directory(path)
    if directory is None:
        raise BadInput(f"{path} is not a git repository; give the root of one")
    (tip,) = local_commits(directory, (branch,))
    root = top_level(path) or directory
    name, mirror = repository_name(path), context.local_mirror(root, mirror_name(root))
    mirror.fetch(tip)
    with scratch(context.settings.home), _bar(f"reading {name}") as progress:
        store, sandbox = context.store, context.sandbox
        learned = read(mirror.directory, name, store=store, sandbox=sandbox, tip=tip, most=most, progress=progress)
    return name, tip, mirror, learned


@contextmanager
def _bar(doing: str) -> Iterator[ReportProgress]:
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
