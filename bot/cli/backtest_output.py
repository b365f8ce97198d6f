"""What `backtest` prints: a page of at most 30 lines, the conclusion first."""

from bot.cli.history_output import MAX_LINES, points, title, wrapped
from memory.history.backtest import (
    BUDGET,
    BY_SEVERITY,
    DEFAULTS,
    LOT,
    MIN_ADDRESSED,
    MIN_CHANGES,
    ORACLE,
    OURS,
    UNTAUGHT,
    Backtest,
    ComparedRanking,
    Conclusion,
    HistoryTooShort,
    Verdict,
)
from memory.history.lessons import ENOUGH

CHOSEN = {
    OURS: "learned from the history",
    UNTAUGHT: "learned, begun without a history",
    LOT: "at random",
    BY_SEVERITY: "the most severe first",
    DEFAULTS: "rules of the tools' defaults first",
    "three dismissals": "rules left less than three times first",
    "Wilson bound": "rules that were fixed most often first",
    ORACLE: "the best possible: it knows the outcomes",
}
"""How each ranking chooses, in words."""


def backtest_page(name: str, found: Backtest, *, all_rules: bool) -> list[str]:
    """`apprentice backtest`: the conclusion, why, and a table."""
    conclusion = found.conclusion
    pool = "all rules of ruff and bandit" if all_rules else "the rules that reviews here ask for"
    return [
        *wrapped(f"{title(name)}: {conclusion.verdict}."),
        *wrapped(_advice(conclusion)),
        "",
        *_comparisons(conclusion),
        "",
        *wrapped(
            f"Replayed: the last {found.changes:,} changes with findings of {pool}. Each way of choosing posts as many "
            f"comments: here {BUDGET} a change at most, {conclusion.of(OURS).comments:,.0f} together. Of all "
            f"{found.findings:,} findings developers fixed {points(found.base)} %; the share on the page of learn is that of the "
            "whole history."
        ),
        "",
        f"{'Comments chosen by':<46}{'developers fixed':<24}× random",
        *(_compared(each) for each in conclusion.compared),
        *wrapped(_carried(found.carried)),
        *wrapped(
            "Fixed: on their own, within 100 changes, without any comment of ours; the rest was left, or silenced. "
            "Brackets: 95 % intervals."
        ),
        "All figures: --json. One rule or family alone: --rule UP.",
    ][:MAX_LINES]


def _comparisons(conclusion: Conclusion) -> list[str]:
    """The two comparisons that decide, and a third one where that is why learning is better switched off."""
    ours, lot, strongest = (conclusion.of(name) for name in (OURS, conclusion.lot, conclusion.strongest))
    against = conclusion.of(conclusion.against)
    lines = wrapped(
        f"Learning must win two comparisons. Of its comments developers fixed {points(ours.share.estimate)} %; of as "
        "many comments chosen"
    )
    lines += wrapped(f"- {CHOSEN[lot.name]}: {_outcome(lot)};")
    lines += wrapped(f"- by the strongest simple rule, “{CHOSEN[strongest.name]}”: {_outcome(strongest)}.")
    if against not in (lot, strongest):
        lines += wrapped(f"- And without learning reviews choose “{CHOSEN[against.name]}”: {_outcome(against)}.")
    return lines


def _outcome(each: ComparedRanking) -> str:
    """Who wins a comparison, and by how many points."""
    low, high, share = each.ahead.low, each.ahead.high, f"{points(each.share.estimate)} %"
    if low > 0.0:
        return f"{share}. Won, by {points(low)} to {points(high)} points"
    if high < 0.0:
        return f"{share}. Lost, by {points(-high)} to {points(-low)} points"
    return f"{share}. Not won: no clear difference, {100 * low:+.1f} to {100 * high:+.1f} points"


def _advice(conclusion: Conclusion) -> str:
    if conclusion.verdict is Verdict.HELPS:
        return "Keep learning on: nothing to do."
    if conclusion.verdict is Verdict.OFF:
        return (
            "To switch learning off set APPRENTICE_LEARN_CHANGES=0 for workers and commands: reviews then decide by severity, "
            "tested fixes and feedback."
        )
    keep = "Keep learning on: no simpler way of choosing is shown to be better."
    if conclusion.more_changes is None:
        return f"{keep} The differences are too small, or point both ways, to say when more changes decide it."
    return f"{keep} If the differences stay, about {conclusion.more_changes:,} more changes with findings decide it."


def too_short(name: str, little: HistoryTooShort, *, all_rules: bool) -> str:
    """Why there is no conclusion, and what to do."""
    lines = wrapped(
        f"apprentice: {title(name)}: cannot tell whether learning helps; keep it on. Of the later changes, which are replayed, "
        f"{little.changes} have findings, and developers fixed {little.addressed} of these; a comparison needs "
        f"{MIN_CHANGES} changes and {MIN_ADDRESSED} fixed findings. Learning needs less: {ENOUGH} findings with a "
        "clear end. Read more changes with --most, or run this again when there are more"
        f"{'.' if all_rules else '; --all-rules replays every rule, not only those that reviews here ask for.'}"
    )
    return "\n".join(lines).removeprefix("apprentice: ")


def _compared(each: ComparedRanking) -> str:
    share = each.share
    fixed = f"{points(share.estimate)} % ({points(share.low)} to {points(share.high)} %)"
    return f"  {CHOSEN[each.name]:<44}{fixed:<24}{each.times_lot:.2f}"


def _carried(found: Conclusion) -> str:
    """What changes where a quiet change leaves its comments to later ones."""
    ours, best = found.of(OURS), found.of(found.strongest)
    return (
        f"Where a change may leave its comments to later ones: {CHOSEN[OURS]} {points(ours.share.estimate)} % of "
        f"{ours.comments:,.0f}, {ours.times_lot:.2f} × random; “{CHOSEN[best.name]}” {points(best.share.estimate)} % of "
        f"{best.comments:,.0f}, {best.times_lot:.2f} ×."
    )
