"""The commands that judge what was learned: what policies are worth, and where learning may fool itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from bot.console import BAD_INPUT, AsJson, complain, out, print_json, refusing
from workers.settings import WorkerSettings, load

commands = typer.Typer()


@commands.command()
def evaluate(
    policy: Annotated[str, typer.Option(help="One policy by its name, or `all`.")] = "all",
    since: Annotated[datetime | None, typer.Option(help="Only decisions from this day on (UTC).")] = None,
    reinstate: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Use this version of the policy from now on.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate from the ledger what policies would have been worth, and whether the one in use stays."""
    from bot import told
    from bot.sheets import show
    from memory import rollback
    from memory.classical import AGENTS
    from memory.evaluation import evaluate as estimate
    from memory.evaluation import targets
    from memory.learner import opaque_id
    from memory.model import TaskKind
    from memory.versions import CONTROL, VERSIONS
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        store = context.store
        makers = targets(rollback.current(store).version, agents=AGENTS)
        _known(policy, ("all", *makers))
        if reinstate is not None:
            _known(reinstate, (CONTROL, *VERSIONS))
            rollback.reinstate(store, reinstate, context.clock(), opaque_id())
            makers = targets(reinstate, agents=AGENTS)
        log = store.record.logged(TaskKind.REPAIR)
        judged = rollback.look(store, log)
        wanted = [name for name in makers if name != judged.version] if policy == "all" else [policy]
        chosen = {name: makers[name]() for name in wanted}
        found = estimate(log, chosen, since=since and since.replace(tzinfo=UTC))
    if as_json:
        print_json({"policies": [each.to_json() for each in found], "in_use": asdict(judged)})
    else:
        show(told.evaluations(found, judged, f"{since:%Y-%m-%d}" if since else ""), out)


@commands.command()
def audit(as_json: AsJson = False) -> None:
    """List where learning may fool itself, or be fooled: rewards that disagree, tests that shrink, odd teachers."""
    from bot import told
    from bot.sheets import show
    from memory.audit import audit as look
    from memory.model import TaskKind
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        record = context.store.record
        items = look(record.logged(TaskKind.REPAIR), record.logged(TaskKind.REVIEW), record.attempts(), context.clock())
    if as_json:
        print_json({"items": [asdict(item) for item in items]})
    else:
        show(told.audit(items), out)


def _known(name: str, names: Collection[str]) -> None:
    """Refuse a name that is not among `names`."""
    if name not in names:
        complain(f"there is no policy {name!r}; there are {', '.join(names)}")
        raise typer.Exit(BAD_INPUT)
