"""The commands about preferences, and about what leaves: they open the memory, call one function, and print."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bot.console import BAD_INPUT, AsJson, complain, out, print_json, refusing
from workers.settings import WorkerSettings, load

if TYPE_CHECKING:
    from memory.preferences.training import Trained

commands = typer.Typer()


class What(StrEnum):
    """What can be exported."""

    SFT = "sft"
    DPO = "dpo"
    KTO = "kto"
    AGENT = "agent"
    LEARNINGS = "learnings"


@commands.command()
def preferences(
    train: Annotated[bool, typer.Option("--train", help="Train on everything judged so far, and evaluate.")] = False,
    activate: Annotated[
        str | None, typer.Option(metavar="ID", help="Put a model in force that was shown to be better than the prior.")
    ] = None,
    deactivate: Annotated[bool, typer.Option("--deactivate", help="Have no model in force.")] = False,
    as_json: AsJson = False,
) -> None:
    """The reward models of what people chose: what they foretell, and which of them ranks."""
    from memory.model import TaskKind
    from memory.preferences import collecting
    from memory.preferences.training import Trained
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        for kind in TaskKind:
            if train:
                collecting.learn_preferences(context.store, context.embedder, kind, context.clock())
            if deactivate:
                context.store.models.deactivate(kind)
        if activate is not None:
            collecting.activate(context.store, activate)
        models = context.store.models.all(Trained)
    if as_json:
        print_json({"models": [model_document(trained, active=active) for trained, active in models]})
    elif models:
        out.print(model_table(models))
        for trained, active in models:
            out.print(model_line(trained, active=active), markup=False)
    else:
        out.print("no reward model yet; `apprentice preferences --train` makes one of what people judged")


@commands.command()
def export(
    what: What,
    file: Annotated[Path, typer.Argument(show_default=False)],
    repository: Annotated[
        list[str] | None,
        typer.Option(metavar="OWNER/NAME", help="A repository whose code and verdicts may leave; give it for each."),
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only decisions from that day on.")
    ] = None,
    own_names: Annotated[
        bool, typer.Option("--own-names", help="With learnings: error types that the project named itself, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write what people accepted and rejected, for whoever fine-tunes a model, or what they taught, for other repositories;
    only from the repositories named."""
    from memory.exports import Form
    from memory.exports import export as write
    from workers.context import build
    from workers.redaction import redact

    if not repository:
        complain("nothing leaves unless it is named; give --repository OWNER/NAME for each one that may be exported")
        raise typer.Exit(BAD_INPUT)
    if not file.absolute().parent.is_dir():
        complain(f"there is no directory {file.absolute().parent}; make it, or name another file")
        raise typer.Exit(BAD_INPUT)
    if (since is not None) if what is What.LEARNINGS else own_names:
        complain("--since goes with sft, dpo, kto and agent, --own-names with learnings")
        raise typer.Exit(BAD_INPUT)
    if what is What.LEARNINGS:
        _export_learnings(file, repository, own_names=own_names, as_json=as_json)
        return
    with refusing():
        store = build(load(WorkerSettings)).store
        day = since.replace(tzinfo=UTC) if since else None
        exported = write(store, Form(what), file.absolute(), repositories=repository, clean=redact, since=day)
    if as_json:
        print_json(asdict(exported))
    else:
        out.print(exported.text(), markup=False)


def _export_learnings(file: Path, repositories: list[str], *, own_names: bool, as_json: bool) -> None:
    from memory.exports import write_atomically
    from memory.sharing.document import parse, render
    from memory.sharing.harvest import harvest
    from memory.sharing.lessons import merged
    from memory.sharing.strict import BadLearnings
    from workers.comments.learnings import link_to
    from workers.context import build

    if len(repositories) > 1:
        complain("one file holds what one repository learned; export the others into files of their own")
        raise typer.Exit(BAD_INPUT)
    with refusing():
        settings = load(WorkerSettings)
        learned = harvest(
            build(settings).store,
            repositories[0],
            link_to(settings.github_url),
            quorum=settings.quorum,
            private_names=own_names,
        )
    try:
        learned = merged(parse(file.read_text(encoding="utf-8")), learned) if file.exists() else learned
    except (BadLearnings, UnicodeDecodeError) as error:
        complain(f"{file} is there and is no learnings file ({error}); move it away, or name another one")
        raise typer.Exit(BAD_INPUT) from error
    write_atomically(file.absolute(), render(learned).splitlines())
    if as_json:
        print_json({"path": str(file.absolute()), "source": learned.source, "lessons": len(learned.lessons)})
    else:
        out.print(f"{len(learned.lessons)} lessons of {learned.source} in {file}; review them before they go anywhere")


@commands.command(name="import")
def import_(
    file: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    remove: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Take out again, exactly, what came from a source.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take over a reviewed learnings file as a prior; without FILE, what was taken over."""
    from memory.sharing.document import parse
    from memory.sharing.lessons import Learnings
    from memory.sharing.strict import MOST_BYTES, BadLearnings
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        if remove is not None and not context.store.imports.remove(remove):
            complain(f"nothing was imported from {remove!r}; `apprentice import` lists the sources")
            raise typer.Exit(BAD_INPUT)
        if file is not None:
            try:
                with file.open("rb") as opened:
                    learned = parse(opened.read(MOST_BYTES + 1).decode())
            except (BadLearnings, OSError, UnicodeDecodeError) as error:
                complain(f"{file}: {error}")
                raise typer.Exit(BAD_INPUT) from error
            context.store.imports.put(learned.source, learned, now=context.clock())
        known = context.store.imports.all(Learnings)
    if as_json:
        print_json({"imports": [{"source": each.source, "lessons": len(each.lessons)} for each in known]})
        return
    table = Table("source", "lessons", "about", box=None, pad_edge=False)
    for each in known:
        labels = sorted({lesson.label for lesson in each.lessons})
        table.add_row(each.source, str(len(each.lessons)), escape(", ".join(labels[:8])))
    out.print(table if known else "nothing was imported")


def model_document(trained: Trained, *, active: bool) -> dict[str, object]:
    """A reward model for scripts, without the embedding's weights."""
    return {
        "id": trained.id,
        "kind": trained.kind,
        "active": active,
        "created_at": trained.created_at.isoformat(),
        "trained_on": trained.trained_on,
        "teachers": trained.teachers,
        "repositories": list(trained.repositories),
        "hyperparameters": asdict(trained.model.hyperparameters),
        "embedder": trained.model.embedder,
        "weights": dict(trained.model.weights),
        "evaluation": asdict(trained.evaluation),
    }


def model_table(models: list[tuple[Trained, bool]]) -> Table:
    """The reward models for people: what each foretold of held-out pairs."""
    table = Table("model", "held out", "right", "less surprised than the prior", "off by", box=None, pad_edge=False)
    for trained, active in models:
        found = trained.evaluation
        table.add_row(
            f"{trained.kind} {trained.id}" + (" *" if active else ""),
            f"{found.pairs} pairs",
            f"{found.accuracy:.0%}, {found.prior_accuracy:.0%} by the prior",
            f"{found.gain:+.3f} nats ({found.low:+.3f} to {found.high:+.3f})",
            f"{found.calibration_error:.0%}",
        )
    return table


def model_line(trained: Trained, *, active: bool) -> str:
    """Whether a model ranks, may rank, or why it may not."""
    where = "everywhere" if trained.teachers > 1 else ", ".join(trained.repositories)
    verdict = trained.evaluation.refusal or (f"ranks {where}" if active else f"may rank {where}")
    return f"{trained.id}: {verdict}"
