"""What people read of a backtest: tables, and the learning curve on a terminal and as a picture."""

from __future__ import annotations

from pathlib import Path

from bot.sheets import Sheet
from memory.history.backtest import BUDGET, RECALL, ArmFigures, Backtest
from memory.history.cold import CHANGES
from memory.history.measures import Interval

_BARS = "▁▂▃▄▅▆▇█"


def sheets(found: Backtest, name: str) -> list[Sheet]:
    """`apprentice backtest`."""
    return [
        Sheet(
            title=f"{name}: {found.findings} findings of {found.changes} changes, {found.base:.1%} addressed untold",
            columns=(
                "way to choose",
                f"at {RECALL:.0%} kept",
                f"{BUDGET} a change",
                "addressed",
                "by itself",
                "kept",
                "ours at its volume",
            ),
            rows=tuple(map(_arm, found.arms)),
            notes=(
                "times the share addressed of saying everything, with 95 % intervals over changes",
                f"at {RECALL:.0%} kept: {found.comments_a_change:.1f} comments a change; {found.suppressed:.1%} of what was not said was addressed",
                _cold(found),
            ),
        ),
        Sheet(title=f"Learning curve, {BUDGET} comments a change", notes=(_curve(found),)),
    ]


def _arm(arm: ArmFigures) -> tuple[str, ...]:
    return (
        arm.name,
        _interval(arm.keeping),
        _interval(arm.budget),
        f"{arm.budget_share:.0%}",
        f"{arm.said.lift:.2f}",
        f"{arm.said.kept:.0%}",
        f"{arm.ours_at_volume.estimate:.2f} ({arm.ahead.low:+.2f} to {arm.ahead.high:+.2f})",
    )


def _interval(value: Interval) -> str:
    return f"{value.estimate:.2f} ({value.low:.2f} to {value.high:.2f})"


def _cold(found: Backtest) -> str:
    if found.cold is None:
        return f"what was said in the first {CHANGES} changes after an installation was never addressed"
    gap = f"{100 * found.cold.estimate:+.1f} points ({100 * found.cold.low:+.1f} to {100 * found.cold.high:+.1f})"
    many = f"in the first {CHANGES} changes after each of {len(found.starts)} installations"
    return f"with history instead of without, the share addressed of what was said {many}: {gap}"


def _curve(found: Backtest) -> str:
    lifts = [lift for _, lift in found.curve]
    top = max(*lifts, 1.0)
    bars = "".join(_BARS[min(int(lift / top * len(_BARS)), len(_BARS) - 1)] for lift in lifts)
    return f"{bars}  {lifts[0]:.1f} after {found.curve[0][0]} changes, {lifts[-1]:.1f} after {found.curve[-1][0]}"


def draw(found: Backtest, name: str, file: Path) -> None:
    """The learning curve as a picture."""
    from matplotlib.figure import Figure  # slow to import, and seldom asked for

    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([changes for changes, _ in found.curve], [lift for _, lift in found.curve], marker="o")
    axes.axhline(1.0, color="grey", linestyle="--", label="saying everything")
    axes.set(
        xlabel="changes replayed",
        ylabel="times the share addressed",
        title=f"{name}, {BUDGET} comments a change",
        ylim=(0.0, None),
    )
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)
