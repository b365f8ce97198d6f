"""`apprentice export` and `import`: what leaves this installation, and what comes in."""

from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import AsJson, command_context, print_line, print_result, refuse, refusing, repository_key, writing
from memory.model import TaskKind
from workers.redaction import redact


class ExportKind(StrEnum):
    SFT = "sft"
    DPO = "dpo"
    KTO = "kto"
    AGENT = "agent"
    LEARNINGS = "learnings"
    UPLIFT = "uplift"


def export(
    what: ExportKind,
    file: Annotated[Path, typer.Argument(show_default=False)],
    repository: Annotated[
        list[str] | None,
        typer.Option(metavar="OWNER/NAME", help="A repository whose code and verdicts may leave; repeat for each."),
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only decisions from that day on.")
    ] = None,
    own_names: Annotated[
        bool, typer.Option("--own-names", help="With learnings: include error types that the project defines.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write accepted and rejected work as data for fine-tuning a model, learnings for other repositories, or counts of
    repairs by arm; only from the repositories given."""
    from memory.export import ExportForm
    from memory.export import export as write

    if not repository:
        refuse("pass --repository OWNER/NAME for each repository to export")
    if not file.absolute().parent.is_dir():
        refuse(f"there is no directory {file.absolute().parent}; make it, or name another file")
    dated = what not in (ExportKind.LEARNINGS, ExportKind.UPLIFT)
    if (since is not None and not dated) or (own_names and what is not ExportKind.LEARNINGS):
        refuse("--since goes with sft, dpo, kto and agent, --own-names with learnings")
    if what is ExportKind.UPLIFT:
        _export_uplift(file, repository, as_json=as_json)
        return
    if what is ExportKind.LEARNINGS:
        _export_learnings(file, repository, own_names=own_names, as_json=as_json)
        return
    with refusing(), writing(file):
        store = command_context().store
        repository = [repository_key(store, each) for each in repository]
        day = since.replace(tzinfo=UTC) if since else None
        exported = write(store, ExportForm(what), file.absolute(), repositories=repository, clean=redact, since=day)
    print_line(asdict(exported), exported.text(), as_json=as_json)


def _export_learnings(file: Path, repositories: list[str], *, own_names: bool, as_json: bool) -> None:
    from memory.export import write_atomically
    from memory.plain_yaml import BadYaml
    from memory.sharing import harvest, merged, parse, render
    from workers.messages.conversation import link_to

    if len(repositories) > 1:
        refuse("one file holds the learnings of one repository; export the others into files of their own")
    with refusing():
        context = command_context()
        learned = harvest(
            context.store,
            repository_key(context.store, repositories[0]),
            link_to(context.settings.github_url),
            quorum=context.settings.quorum,
            private_names=own_names,
        )
    with writing(file):
        try:
            learned = merged(parse(file.read_text(encoding="utf-8")), learned) if file.exists() else learned
        except (BadYaml, UnicodeDecodeError) as error:
            refuse(f"{file} exists and is no learnings file ({error}); move it away, or name another one", error)
        write_atomically(file.absolute(), render(learned))
    line = f"{len(learned.lessons)} lessons of {learned.source} in {file}; review them before you share them"
    document = {"path": str(file.absolute()), "source": learned.source, "lessons": len(learned.lessons)}
    print_line(document, line, as_json=as_json)


def _export_uplift(file: Path, repositories: list[str], *, as_json: bool) -> None:
    from memory.evaluation.control_arm import results
    from memory.evaluation.pooling import MIN_TASKS, UpliftCounts, counted, installation_of, render
    from memory.export import write_atomically
    from memory.policy.q_table import CONTROL

    with refusing():
        store = command_context().store
        wanted = {repository_key(store, each) for each in repositories}
        log = store.ledger.logged(TaskKind.REPAIR)
        chosen = results([each for each in log if each.decision.state.repository in wanted])
    counts = counted(each for each in chosen if each.version != CONTROL)
    if not counts:
        refuse(f"too few repairs: at least {MIN_TASKS} of each arm are needed, and `apprentice stats` counts them")
    found = UpliftCounts(product=version("apprentice"), installation=installation_of(log), counts=counts)
    with writing(file):
        write_atomically(file.absolute(), render(found))
    tasks = sum(each.learned.tasks + each.control.tasks for each in counts)
    line = f"{tasks} of {len(chosen)} repairs in {len(counts)} families in {file}; read it before you share it"
    print_line({"path": str(file.absolute()), "tasks": tasks, "families": len(counts)}, line, as_json=as_json)


def import_(
    file: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    remove: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Remove, exactly, what was imported from a source.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import a reviewed learnings file as a prior; without FILE, list the imports."""
    from bot.cli import tables
    from memory.plain_yaml import MAX_BYTES, BadYaml
    from memory.sharing import Learnings, parse

    with refusing():
        context = command_context()
        if remove is not None and not context.store.imports.remove(remove):
            refuse(f"nothing was imported from {remove!r}; `apprentice import` lists the sources")
        if file is not None:
            try:
                with file.open("rb") as opened:
                    learned = parse(opened.read(MAX_BYTES + 1).decode())
            except (BadYaml, OSError, UnicodeDecodeError) as error:
                refuse(f"{file}: {error}", error)
            context.store.imports.put(learned.source, learned, now=context.clock())
        known = context.store.imports.all(Learnings)
    document = {"imports": [{"source": each.source, "lessons": len(each.lessons)} for each in known]}
    print_result(document, lambda: tables.imports(known), as_json=as_json)
