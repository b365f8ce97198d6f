"""`apprentice why`, `stats`, `rebuild` and `forget`: what was learned, and how to undo it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import (
    AsJson,
    command_context,
    out,
    print_json,
    print_line,
    print_result,
    print_tables,
    refuse,
    refusing,
    repository_key,
)

if TYPE_CHECKING:
    from memory.forget import SignalsToForget
    from memory.store import Store


def why(
    reference: Annotated[str, typer.Argument(metavar="DECISION_ID|FINGERPRINT|OWNER/NAME|PATH", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Explain a decision (the table's row, the evidence, the odds, the feedback); of a repository the last one."""
    from bot.local import repository_name
    from memory.explain import environment_json, environment_lines, environments, explain

    with refusing():
        context = command_context()
        explanation = explain(context.store, context.learner, reference)
        if explanation is None:
            local = Path(reference).is_dir()
            key = repository_name(Path(reference)) if local else repository_key(context.store, reference)
            last = context.store.ledger.latest(key)
            explanation = explain(context.store, context.learner, last.id) if last else None
        if explanation is not None:
            print_line(explanation.to_json(), explanation.text(), as_json=as_json)
            return
        tried = environments(context.store, key)
    if not tried:
        refuse(f"no decision, finding or environment of {reference!r}; `apprentice fix` and `review` print ids")
    print_line(
        {"environments": [environment_json(each) for each in tried]},
        "\n".join(environment_lines(tried)),
        as_json=as_json,
    )


def stats(
    pool: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Pool with the counts of other installations in its *.yml.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was done, with which results, and what learning was worth against the control arm."""
    from bot.cli import tables
    from memory.evaluation.pooling import BadCounts, read_files
    from memory.stats import stats as statistics

    with refusing():
        context = command_context()
        try:
            files = None if pool is None else read_files(pool)
        except BadCounts as error:
            refuse(str(error), error)
        found = statistics(context.store, context.settings.control_share, files)
    print_result(found.to_json(), lambda: tables.stats(found), as_json=as_json)


def rebuild(as_json: AsJson = False) -> None:
    """Derive everything learned anew from the ledger, and print the table's digest.

    Other writers wait meanwhile, those on SQLite 30 seconds at most: drain the workers first where the ledger is large.
    """
    with refusing():
        context = command_context()
        entries, digest = context.learner.rebuild(), context.store.ledger.cells_digest()
    print_line({"entries": entries, "digest": digest}, digest, as_json=as_json)


def forget(
    teacher: Annotated[str, typer.Option(metavar="LOGIN_OR_ID", help="Undo the feedback of this account.")] = "",
    repository: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="Undo what was learned in this repository.")
    ] = "",
    decision: Annotated[str, typer.Option(metavar="ID", help="Undo what was learned from this decision.")] = "",
    experience: Annotated[str, typer.Option(metavar="ID", help="Delete this experience.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Undo exactly what was learned from an account, a repository or a decision; or delete an experience."""
    from bot.cli import tables
    from memory.forget import forget as undo
    from memory.policy.learner import opaque_id
    from workers.errors import BadInput

    with refusing():
        context = command_context()
        repository = repository_key(context.store, repository) if repository else ""
        lessons = _selected(context.store, teacher=teacher, repository=repository, decision=decision)
        if experience and context.store.experiences.get(experience) is None:
            raise BadInput(f"no experience {experience!r}; `apprentice why` prints their ids")
        if not (teacher or repository or decision or experience):
            raise BadInput("name what to forget: --teacher, --repository, --decision or --experience")
        past = repository if repository and not teacher else ""
        if not as_json:
            print_tables(
                tables.lessons(lessons, experience, past=context.store.past.count(past), name_of=context.store.name_of),
                out,
            )
        agreed = yes or (not as_json and sys.stdin.isatty() and typer.confirm("Forget this?"))
        if agreed:
            undo(context.store, lessons, now=context.clock(), new_id=opaque_id)
            context.store.experiences.delete(experience)
            context.store.past.forget(past)
            context.store.plans.remove_of(past)
        digest = context.store.ledger.cells_digest()
    if as_json:
        names = ("repository", "by", "what", "weight", "count")
        rows = [dict(zip(names, (*row, count), strict=True)) for row, count in lessons.counted(context.store.name_of)]
        print_json({"forgotten": agreed, "lessons": rows, "experience": experience, "digest": digest})
    elif agreed:
        out.print(f"forgotten; the table's digest is {digest}")
    else:
        refuse("nothing was forgotten; run again with --yes")


def _selected(store: Store, *, teacher: str, repository: str, decision: str) -> SignalsToForget:
    """The signals to forget; raises BadInput for an unknown or ambiguous name."""
    from memory.forget import SignalsToForget, feedback_of, learned_from, learned_in
    from workers.errors import BadInput

    if decision:
        if teacher or repository:
            raise BadInput("give --decision alone: a decision belongs to one repository already")
        if store.ledger.decision(decision) is None:
            raise BadInput(f"no decision {decision!r}; `apprentice fix` and `review` print ids")
        return learned_from(store, decision)
    if teacher:
        return feedback_of(store, _account(store, teacher), repository)
    return learned_in(store, repository) if repository else SignalsToForget()


def _account(store: Store, teacher: str) -> int:
    from workers.errors import BadInput

    if teacher.isdecimal():
        return int(teacher)
    found = store.ledger.accounts(teacher)
    if len(found) != 1:
        several = (
            f"{len(found)} accounts gave feedback as {teacher!r}: {', '.join(map(str, found))}; give one by its id"
        )
        raise BadInput(several if found else f"no feedback from {teacher!r}")
    return found[0]
