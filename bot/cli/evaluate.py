"""`apprentice evaluate`, `audit` and `preferences`: what learned policies and reward models are worth."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import AsJson, TextTable, command_context, print_result, refuse, refusing

if TYPE_CHECKING:
    from memory.preferences.model import PreferenceModel


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
    from memory.model import TaskKind
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
    from memory.model import TaskKind

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
    from memory.model import TaskKind
    from memory.preferences.model import activate as put_in_use
    from memory.preferences.model import known_models
    from memory.preferences.training import learn_preferences

    with refusing():
        context = command_context()
        for kind in (TaskKind.REPAIR, TaskKind.REVIEW):
            if train:
                learn_preferences(context.store, kind, context.clock())
            if deactivate:
                context.store.models_in_use.remove(kind)
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
