"""`apprentice why`, `stats`, `rebuild`, `forget`, `evaluate`, `audit` and `preferences`: what was learned, what it is worth,
and how to undo it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import (
    AsJson,
    TextTable,
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
from memory.model import TaskKind
from workers.errors import BadInput

if TYPE_CHECKING:
    from memory.forget import SignalsToForget
    from memory.preferences import PreferenceModel
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
    document = {"environments": [environment_json(each) for each in tried]}
    print_line(document, "\n".join(environment_lines(tried)), as_json=as_json)


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
    if teacher.isdecimal():
        return int(teacher)
    found = store.ledger.accounts(teacher)
    if len(found) != 1:
        several = (
            f"{len(found)} accounts gave feedback as {teacher!r}: {', '.join(map(str, found))}; give one by its id"
        )
        raise BadInput(several if found else f"no feedback from {teacher!r}")
    return found[0]


def evaluate(
    policy: Annotated[str, typer.Option(help="One policy by its name, or `all`.")] = "all",
    since: Annotated[datetime | None, typer.Option(help="Only decisions from this day on (UTC).")] = None,
    reinstate: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Use this version of the policy from now on.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate from the ledger what policies would have been worth, and whether the one in use stays."""
    from bot.cli import tables
    from memory.evaluation.off_policy import evaluate as estimate
    from memory.evaluation.off_policy import targets
    from memory.evaluation.rollback import current, look
    from memory.evaluation.rollback import reinstate as use_version
    from memory.policy.learner import opaque_id
    from memory.policy.q_table import CONTROL, VERSIONS

    with refusing():
        context = command_context()
        store = context.store
        log = store.ledger.logged(TaskKind.REPAIR)
        policies = targets(current(store).version, log)
        _known(policy, ("all", *policies))
        if reinstate is not None:
            _known(reinstate, (CONTROL, *VERSIONS))
            use_version(store, reinstate, context.clock(), opaque_id())
            policies = targets(reinstate, log)
        quorum = context.settings.quorum
        judged = look(store, log, quorum=quorum)
        wanted = [name for name in policies if name != judged.version] if policy == "all" else [policy]
        chosen = {name: policies[name] for name in wanted}
        found = estimate(log, chosen, since=since and since.replace(tzinfo=UTC), quorum=quorum)
    estimates = [{"policy": name, "decision": asdict(each)} for name, each in found.items()]
    document = {"policies": estimates, "in_use": asdict(judged)}
    day = f"{since:%Y-%m-%d}" if since else ""
    print_result(document, lambda: tables.evaluations(found, judged, day), as_json=as_json)


def audit(as_json: AsJson = False) -> None:
    """List where learning may be wrong or misled: rewards that disagree, lost decisions, unusual teachers."""
    from bot.cli import tables
    from memory.evaluation.audit import audit as look

    with refusing():
        context = command_context()
        store = context.store
        repairs, reviews = (store.ledger.logged(kind) for kind in (TaskKind.REPAIR, TaskKind.REVIEW))
        items = look(repairs, reviews, context.clock(), store.name_of)
    print_result({"items": [asdict(item) for item in items]}, lambda: tables.audit(items), as_json=as_json)


def preferences(
    train: Annotated[bool, typer.Option("--train", help="Train on all feedback so far, and evaluate.")] = False,
    activate: Annotated[
        str | None, typer.Option(metavar="ID", help="Let a model rank that is shown to be better than the prior.")
    ] = None,
    deactivate: Annotated[bool, typer.Option("--deactivate", help="Let no model rank.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the reward models trained on feedback: what each predicts, and which one ranks."""
    from memory.preferences import activate as put_in_use
    from memory.preferences import known_models, learn_preferences

    with refusing():
        context = command_context()
        if train:
            learn_preferences(context.store, context.clock())
        if deactivate:
            context.store.models_in_use.remove(TaskKind.REVIEW)
        if activate is not None:
            put_in_use(context.store, activate)
        models = known_models(context.store)
    document = {"models": [each.to_json(active=active) for each, active in models]}
    print_result(document, lambda: reward_models(models), as_json=as_json)


def _known(name: str, names: Collection[str]) -> None:
    """Refuse a name that is not among `names`."""
    if name not in names:
        refuse(f"there is no policy {name!r}; there are {', '.join(names)}")


def reward_models(models: Sequence[tuple[PreferenceModel, bool]]) -> list[TextTable]:
    """`apprentice preferences`: what each model predicts of held-out pairs, and whether it may rank."""
    if not models:
        return [TextTable(title="no reward model yet; `apprentice preferences --train` trains one on feedback")]
    head = ("model", "held out", "right", "gain over the prior", "off by")
    return [
        TextTable(
            title="Reward models",
            columns=head,
            rows=tuple(_reward_model(trained, active=active) for trained, active in models),
            notes=tuple(_permission(trained, active=active) for trained, active in models),
        )
    ]


def _reward_model(trained: PreferenceModel, *, active: bool) -> tuple[str, ...]:
    found = trained.evaluation
    return (
        f"{trained.kind} {trained.id}" + (" *" if active else ""),
        f"{found.pairs} pairs",
        f"{found.accuracy:.0%}, {found.prior_accuracy:.0%} by the prior",
        f"{found.gain:+.3f} nats ({found.low:+.3f} to {found.high:+.3f})",
        f"{found.calibration_error:.0%}",
    )


def _permission(trained: PreferenceModel, *, active: bool) -> str:
    where = "everywhere" if trained.teachers > 1 else ", ".join(trained.repositories)
    return f"{trained.id}: {trained.evaluation.refusal or (f'ranks {where}' if active else f'may rank {where}')}"
