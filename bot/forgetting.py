"""`apprentice forget`: shows what would be undone, asks, and undoes it."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bot.console import BAD_INPUT, AsJson, complain, out, print_json, refusing
from memory.forgetting import Lessons, forget, taught_about, taught_by, taught_in
from memory.store import Store
from workers.errors import BadInput
from workers.settings import WorkerSettings, load

commands = typer.Typer()

Row = tuple[str, str, str, float]
"""Repository, by whom, what, and with which weight each."""


@commands.command(name="forget")
def forget_command(
    teacher: Annotated[str, typer.Option(metavar="LOGIN_OR_ID", help="Undo what this account taught.")] = "",
    repository: Annotated[str, typer.Option(metavar="OWNER/NAME", help="Undo what was taught in this one.")] = "",
    decision: Annotated[str, typer.Option(metavar="ID", help="Undo what was learned from this decision.")] = "",
    experience: Annotated[str, typer.Option(metavar="ID", help="Delete this experience.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Undo, exactly, what a teacher, a repository or a decision taught; or delete an experience."""
    from memory.learner import opaque_id
    from workers.context import build

    with refusing():
        context = build(load(WorkerSettings))
        lessons = _selected(context.store, teacher=teacher, repository=repository, decision=decision)
        if experience and context.store.experiences.get(experience) is None:
            raise BadInput(f"no experience {experience!r}; `apprentice why` prints their ids")
        if not (teacher or repository or decision or experience):
            raise BadInput("say what to forget: --teacher, --repository, --decision or --experience")
        past = repository if repository and not teacher else ""
        if not as_json:
            _show(lessons, experience, context.store.past.count(past))
        agreed = yes or (not as_json and sys.stdin.isatty() and typer.confirm("Forget this?"))
        if agreed:
            forget(context.store, lessons, now=context.clock(), new_id=opaque_id)
            context.store.experiences.delete(experience)
            context.store.past.forget(past)
        digest = context.store.ledger.cells_digest()
    if as_json:
        print_json(_document(lessons, experience, digest, forgotten=agreed))
    elif agreed:
        out.print(f"forgotten; the table's digest is {digest}")
    else:
        complain("nothing was forgotten; run again with --yes")
        raise typer.Exit(BAD_INPUT)


def _selected(store: Store, *, teacher: str, repository: str, decision: str) -> Lessons:
    """What stands of what is to be undone; raises BadInput for what is not known or not clear."""
    if decision:
        if teacher or repository:
            raise BadInput("--decision stands alone: a decision is of one repository already")
        if store.ledger.decision(decision) is None:
            raise BadInput(f"no decision {decision!r}; `apprentice fix` and `review` print ids")
        return taught_about(store, decision)
    if teacher:
        return taught_by(store, _account(store, teacher), repository)
    return taught_in(store, repository) if repository else Lessons()


def _account(store: Store, teacher: str) -> int:
    if teacher.isdecimal():
        return int(teacher)
    found = store.ledger.accounts(teacher)
    if len(found) != 1:
        several = f"{len(found)} accounts taught as {teacher!r}: {', '.join(map(str, found))}; name one by its id"
        raise BadInput(several if found else f"nobody taught as {teacher!r}")
    return found[0]


def _rows(lessons: Lessons) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for decision, signal in lessons.signals:
        rows[decision.state.repository, signal.actor.login, str(signal.kind), signal.weight] += 1
    for decision, _ in lessons.outcomes:
        rows[decision.state.repository, "its tests", "outcome", 1.0] += 1
    return rows


def _show(lessons: Lessons, experience: str, past: int) -> None:
    table = Table("repository", "by", "what", "weight each", "count", box=None, pad_edge=False)
    for (repository, by, what, weight), count in sorted(_rows(lessons).items()):
        table.add_row(escape(repository), escape(by), what.replace("_", " "), f"{weight:.1f}", str(count))
    if lessons.signals or lessons.outcomes:
        out.print(table)
    elif not experience:
        out.print("nothing of it stands in the table")
    if past:
        out.print(f"what became of {past} findings in its past")
    if experience:
        out.print(f"experience {experience}", markup=False)


def _document(lessons: Lessons, experience: str, digest: str, *, forgotten: bool) -> dict[str, object]:
    names = ("repository", "by", "what", "weight", "count")
    return {
        "forgotten": forgotten,
        "lessons": [dict(zip(names, (*row, count), strict=True)) for row, count in sorted(_rows(lessons).items())],
        "experience": experience,
        "digest": digest,
    }
