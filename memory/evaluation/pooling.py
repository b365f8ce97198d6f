"""What learning was worth over several installations: counts of both arms as reviewed files, and one difference from them.

A file holds counts alone, by arm and family of errors: no name, no code, no repository. It is untrusted, see `parse`.

Each installation gives one difference, stratified by family with the weights of Mantel and Haenszel (1959). Installations
differ, so their differences are pooled as random effects: the spread by Paule and Mandel (1982), the interval by Hartung and
Knapp (2001), never narrower than the ordinary one (Röver, Knapp and Friede 2015). No file weighs more than the median one,
and a verdict holds only if it holds without each single file too, so that no one file can make it.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from memory.evaluation.control_arm import ArmDifference, TaskResult, compared
from memory.intervals import Numbers
from memory.model import Arm, Family, LoggedDecision
from memory.plain_yaml import MAX_BYTES, BadYaml, read_exported

VERSION = 1

MIN_TASKS = 5
"""The fewest tasks behind a count that leaves an installation; families with fewer in an arm are counted as `other`."""

MIN_INSTALLATIONS = 3
"""The fewest that a difference is pooled from."""

MAX_FILES = 1000

_FAMILIES = frozenset(Family)


class BadCounts(Exception):
    """A directory of counts cannot be used; the text names file and line, and says what to do."""


class ArmCount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Repairs of one arm, and how many of them were fixed."""

    tasks: Annotated[int, Meta(ge=MIN_TASKS, le=100_000)]
    fixed: Annotated[int, Meta(ge=0)]


class FamilyCount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Both arms' repairs of failures of one family."""

    family: Family
    learned: ArmCount
    control: ArmCount


class UpliftCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file. `installation` is a random number: it tells a newer file from another installation's, and nothing else."""

    version: Annotated[int, Meta(ge=1, le=VERSION)] = VERSION
    product: Annotated[str, Meta(pattern=r"\A[0-9][0-9A-Za-z.+-]*\Z", max_length=40)]
    installation: Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
    counts: Annotated[tuple[FamilyCount, ...], Meta(min_length=1, max_length=len(Family))]


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledUplift(ArmDifference):
    """The pooled difference in the share of repairs that are fixed; `spread` is the standard deviation between installations.

    `own_file` is a file that this installation wrote itself: its ledger is counted instead.
    """

    installations: int
    tasks: int
    spread: float | None
    own_file: str


# ── Counts of a ledger ─────────────────────────────────────────────────────────────────────────────────────────────


def installation_of(log: Sequence[LoggedDecision]) -> str:
    """A number for this installation, from the random id of its first repair: nothing can be read from it."""
    first = min(log, key=lambda each: (each.decision.created_at, each.decision.id), default=None)
    seed = f"uplift counts\0{first.decision.id if first else ''}"
    return hashlib.sha256(seed.encode()).hexdigest()[:16]


def counted(tasks: Iterable[TaskResult]) -> tuple[FamilyCount, ...]:
    """The counts that may leave: a family with fewer than `MIN_TASKS` in an arm is part of `other`, and `other` is left
    out where it has fewer too.
    """
    by_family: defaultdict[Family, dict[Arm, list[bool]]] = defaultdict(lambda: {arm: [] for arm in Arm})
    for each in tasks:
        family = Family(each.family) if each.family in _FAMILIES else Family.OTHER
        by_family[family][each.arm].append(each.proven)
    rest = by_family.pop(Family.OTHER, {arm: [] for arm in Arm})
    for family in [name for name, arms in by_family.items() if not _enough(arms)]:
        for arm, proven in by_family.pop(family).items():
            rest[arm] += proven
    if _enough(rest):
        by_family[Family.OTHER] = rest
    return tuple(
        FamilyCount(family=family, learned=_count(arms[Arm.LEARNED]), control=_count(arms[Arm.CONTROL]))
        for family, arms in sorted(by_family.items())
    )


def _enough(arms: Mapping[Arm, Sequence[bool]]) -> bool:
    return min(map(len, arms.values())) >= MIN_TASKS


def _count(proven: Sequence[bool]) -> ArmCount:
    return ArmCount(tasks=len(proven), fixed=sum(proven))


# ── The file ───────────────────────────────────────────────────────────────────────────────────────────────────────

_HEAD = """\
# How many repairs were fixed with what was learned, and in the control arm without it, by family of errors.
# Read it before you share it: it holds these counts and nothing of a repository. `installation` is a random number.
"""


def render(counts: UpliftCounts) -> str:
    """The file, the same for the same counts."""
    import yaml  # slow to import, and seldom needed

    return _HEAD + str(yaml.safe_dump(msgspec.to_builtins(counts), sort_keys=False, default_flow_style=None, width=120))


def parse(text: str) -> UpliftCounts:
    """Read an untrusted file; raises BadYaml."""
    found, line_of = read_exported(text, UpliftCounts, "export the file again, or upgrade Apprentice")
    for number, each in enumerate(found.counts):
        line = line_of(f"counts[{number}]")
        if each.family in {other.family for other in found.counts[:number]}:
            raise BadYaml(line, 1, f"{each.family} occurs twice; remove one")
        if any(arm.fixed > arm.tasks for arm in (each.learned, each.control)):
            raise BadYaml(line, 1, f"{each.family} has more fixed than tasks; correct it")
    return found


def read_files(directory: Path) -> dict[str, UpliftCounts]:
    """The counts in `*.yml` of a directory, by file name; raises BadCounts for a file that is wrong or counts twice."""
    paths = sorted(each for each in directory.glob("*.yml") if each.is_file())
    if not paths or len(paths) > MAX_FILES:
        raise BadCounts(f"{directory} has {len(paths)} files *.yml, and 1 to {MAX_FILES} can be pooled")
    found: dict[str, UpliftCounts] = {}
    for path in paths:
        try:
            with path.open("rb") as opened:
                counts = parse(opened.read(MAX_BYTES + 1).decode())
        except (BadYaml, OSError, UnicodeDecodeError) as error:
            raise BadCounts(f"{path}: {error}") from error
        for name, other in found.items():
            if other.installation == counts.installation or other.counts == counts.counts:
                raise BadCounts(f"{path} and {name} are of the same installation; keep the newer one")
        found[path.name] = counts
    return found


# ── One difference from many ───────────────────────────────────────────────────────────────────────────────────────


def pooled(
    log: Sequence[LoggedDecision], tasks: Sequence[TaskResult], files: Mapping[str, UpliftCounts]
) -> PooledUplift:
    """The difference over this installation, where it has enough repairs, and the files of others."""
    installation, own = installation_of(log), counted(tasks)
    own_file = next((name for name, each in files.items() if each.installation == installation), "")
    counts = {name: each.counts for name, each in files.items() if name != own_file}
    counts |= {"this installation": own} if own else {}
    effects = [_effect(each) for each in counts.values()]
    found, spread = _verdict(list(counts), np.array(effects).reshape(-1, 2))
    return PooledUplift(
        **asdict(found),
        installations=len(counts),
        tasks=sum(each.learned.tasks + each.control.tasks for families in counts.values() for each in families),
        spread=spread,
        own_file=own_file,
    )


def _verdict(names: Sequence[str], effects: Numbers) -> tuple[ArmDifference, float | None]:
    if len(effects) < MIN_INSTALLATIONS:
        line = f"not known yet: {len(effects)} installations, and {MIN_INSTALLATIONS} are needed"
        return ArmDifference(difference=None, low=None, high=None, verdict=line), None
    mean, half, spread = random_effects(effects)
    found = compared(mean, mean - half, mean + half)
    if abs(mean) <= half:
        return found, spread
    for place, name in enumerate(names):
        other, other_half, _ = random_effects(np.delete(effects, place, axis=0))
        if abs(other) <= other_half or other * mean < 0.0:
            line = f"{mean:+.2f} (95 % interval {mean - half:+.2f} to {mean + half:+.2f}): no difference shown"
            found = ArmDifference(difference=mean, low=mean - half, high=mean + half, verdict=f"{line} without {name}")
            break
    return found, spread


def _effect(counts: Sequence[FamilyCount]) -> tuple[float, float]:
    """Learned minus control, and its variance: by family, weighted as by Mantel and Haenszel.

    The variance is of two binomials with one success and one failure added to each (Agresti and Caffo 2000): never 0.
    """
    arms = np.array(
        [[each.learned.tasks, each.learned.fixed, each.control.tasks, each.control.fixed] for each in counts]
    )
    n, x, m, y = arms.astype(np.float64).T
    weight = n * m / (n + m) / (n * m / (n + m)).sum()
    p, q = (x + 1.0) / (n + 2.0), (y + 1.0) / (m + 2.0)
    variance = p * (1.0 - p) / (n + 2.0) + q * (1.0 - q) / (m + 2.0)
    return float(weight @ (x / n - y / m)), float(weight**2 @ variance)


def random_effects(effects: Numbers) -> tuple[float, float, float]:
    """The mean of differences (rows of difference and variance, two at least), half of its 95 % interval, and the spread."""
    from scipy.stats import t  # slow to import, and seldom needed

    values, variances = effects.T
    variances = np.maximum(variances, np.median(variances))
    squared = _between(values, variances)
    weights = 1.0 / (variances + squared)
    mean = float(weights @ values / weights.sum())
    freedom = len(values) - 1
    error = max(float(weights @ (values - mean) ** 2) / freedom, 1.0) / float(weights.sum())
    return mean, float(t.ppf(0.975, freedom)) * sqrt(error), sqrt(squared)


def _between(values: Numbers, variances: Numbers) -> float:
    """The variance between installations at which the weighted squares are as many as expected (Paule and Mandel 1982)."""
    low, high = 0.0, 1.0  # differences of shares vary by no more
    if _excess(values, variances, low) <= 0.0:
        return low
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _excess(values, variances, middle) > 0.0 else (low, middle)
    return high


def _excess(values: Numbers, variances: Numbers, between: float) -> float:
    weights = 1.0 / (variances + between)
    mean = weights @ values / weights.sum()
    return float(weights @ (values - mean) ** 2) - (len(values) - 1)
