"""The commands about what was learned: they open the memory, call one function, and print."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.console import BAD_INPUT, AsJson, complain, out, print_json, refusing
from workers.settings import WorkerSettings, load

commands = typer.Typer()


@commands.command()
def why(
    reference: Annotated[str, typer.Argument(metavar="DECISION_ID|FINGERPRINT", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Explain a decision: the table's row, the evidence, the odds, what people made of it."""
    from bot import told
    from bot.sheets import show
    from memory.explain import explain
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        explanation = explain(context.store, context.learner, reference)
    if explanation is None:
        complain(f"no decision or finding {reference!r}; `apprentice fix` and `review` print ids")
        raise typer.Exit(BAD_INPUT)
    if as_json:
        print_json(explanation.to_json())
    else:
        show(told.why(explanation), out)


@commands.command()
def stats(as_json: AsJson = False) -> None:
    """What was done, what came of it, and what learning was worth against the control arm."""
    from bot import told
    from bot.sheets import show
    from memory.explain import stats as statistics
    from workers.context import build

    with refusing():
        found = statistics(build(load(WorkerSettings)).store)
    if as_json:
        print_json(found.to_json())
    else:
        show(told.stats(found), out)


@commands.command()
def rebuild(as_json: AsJson = False) -> None:
    """Derive everything learned anew from the ledger; prints the table's digest."""
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        entries, digest = context.learner.rebuild(), context.store.ledger.cells_digest()
    if as_json:
        print_json({"entries": entries, "digest": digest})
    else:
        out.print(digest)
