"""Counts of both arms as files, and one difference from those of many installations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from memory.evaluation.control_arm import TaskResult, results
from memory.evaluation.pooling import (
    MAX_FILES,
    MIN_TASKS,
    ArmCount,
    BadCounts,
    FamilyCount,
    UpliftCounts,
    counted,
    installation_of,
    parse,
    pooled,
    random_effects,
    read_files,
    render,
)
from memory.model import Arm, Family
from memory.plain_yaml import BadYaml
from tests.unit.memory.ledgers import START, logged

EVEN = {"a": 0.5, "b": 0.5}


def tasks(family: str, arm: Arm, proven: int, of: int) -> list[TaskResult]:
    return [
        TaskResult(
            task=f"{family}-{arm}-{n}",
            arm=arm,
            family=family,
            version="v",
            started=START,
            proven=n < proven,
            acceptance=None,
        )
        for n in range(of)
    ]


def counts(number: int, learned: int, control: int, of: int = 100) -> UpliftCounts:
    """An installation with as many repairs in each arm, of which so many were fixed."""
    family = FamilyCount(
        family=Family.LOOKUP, learned=ArmCount(tasks=of, fixed=learned), control=ArmCount(tasks=of, fixed=control)
    )
    return UpliftCounts(product="1.0.0", installation=f"{number:016x}", counts=(family,))


def files(*made: UpliftCounts) -> dict[str, UpliftCounts]:
    return {f"{n}.yml": each for n, each in enumerate(made)}


BETTER = tuple(counts(n, 70 + n % 3, 50) for n in range(6))
ALIKE = tuple(counts(n, 50 + n % 3, 51) for n in range(6))
HOSTILE = counts(99, 100_000, 0, 100_000)


# ── What leaves ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_file_holds_counts_and_nothing_else() -> None:
    """A person can read before sharing that no name, path or repository is in it."""
    text = render(counts(7, 61, 50))
    assert text == snapshot("""\
# How many repairs were fixed with what was learned, and in the control arm without it, by family of errors.
# Read it before you share it: it holds these counts and nothing of a repository. `installation` is a random number.
version: 1
product: 1.0.0
installation: '0000000000000007'
counts:
- family: lookup
  learned: {tasks: 100, fixed: 61}
  control: {tasks: 100, fixed: 50}
""")
    assert parse(text) == counts(7, 61, 50)


def test_small_counts_do_not_leave_by_themselves() -> None:
    """A family with fewer than five repairs in an arm is part of `other`, and `other` stays where it has too few."""
    most = tasks("lookup", Arm.LEARNED, 30, 60) + tasks("lookup", Arm.CONTROL, 2, 6)
    rare = tasks("value", Arm.LEARNED, 9, 9) + tasks("value", Arm.CONTROL, 1, 4)
    unknown = tasks("from a newer release", Arm.CONTROL, 0, 1)
    assert [each.family for each in counted(most + rare)] == ["lookup"]
    (known, other) = counted(most + rare + unknown)
    assert (known.learned, known.control) == (ArmCount(tasks=60, fixed=30), ArmCount(tasks=6, fixed=2))
    assert (other.family, other.learned.tasks, other.control) == ("other", 9, ArmCount(tasks=5, fixed=1))
    assert counted(most[:-2]) == ()


@given(st.lists(st.tuples(st.sampled_from([*Family, "x"]), st.sampled_from(Arm), st.booleans()), max_size=80))
def test_no_count_is_below_the_floor(drawn: list[tuple[str, Arm, bool]]) -> None:
    """Whatever the ledger holds: each count is of at least five repairs, and no repair counts twice."""
    made = [each for family, arm, proven in drawn for each in tasks(family, arm, int(proven), 1)]
    arms = [arm for each in counted(made) for arm in (each.learned, each.control)]
    assert all(arm.tasks >= MIN_TASKS and arm.fixed <= arm.tasks for arm in arms)
    assert sum(arm.tasks for arm in arms) <= len(made)


def test_an_installation_keeps_its_number() -> None:
    """Later repairs do not change it, another ledger has another one, and it shows no id of a decision."""
    log = [logged(n, EVEN, "a", proven=True) for n in range(3)]
    assert installation_of(log) == installation_of(log[:1]) == installation_of(log[::-1])
    assert installation_of(log[1:]) != installation_of(log)
    assert "d0" not in installation_of(log)


# ── What is refused ────────────────────────────────────────────────────────────────────────────────────────────────

GOOD = render(counts(7, 61, 50))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (GOOD, "", "line 1: the file is empty; export it again"),
        ("family: lookup", "family: acme-billing", "Invalid enum value"),
        ("fixed: 61", "fixed: 161", "line 7: lookup has more fixed than tasks; correct it"),
        ("tasks: 100", "tasks: 4", "Expected `int` >= 5"),
        ("tasks: 100", "tasks: 99999999", "Expected `int` <= 100000"),
        ("tasks: 100", "tasks: .nan", "Expected `int`"),
        ("version: 1", "version: 9", "upgrade Apprentice"),
        ("product: 1.0.0", "product: 1.0.0\nrepository: acme/billing", "unknown field"),
        ("installation: '0", "installation: 'g", "Expected `str` matching regex"),
        ("counts:", "counts: &a", "anchors and aliases are not read"),
        ("version: 1", "version: !!python/name:os.system 1", "tags are not read"),
        ("  control: {tasks: 100, fixed: 50}\n", "", "missing required field `control`"),
    ],
)
def test_a_hostile_file_is_refused_with_its_reason(old: str, new: str, reason: str) -> None:
    """One line that names the place and what to do."""
    assert old in GOOD
    with pytest.raises(BadYaml) as refused:
        parse(GOOD.replace(old, new, 1))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_family_counts_once() -> None:
    """Two rows of one family would count its repairs twice."""
    twice = replace(counts(7, 61, 50), counts=counts(7, 61, 50).counts * 2)
    with pytest.raises(BadYaml, match="lookup occurs twice; remove one"):
        parse(render(twice))


def test_a_directory_is_read_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """A wrong file, an installation that is there twice, a copy under another number, and nothing to read are refused."""
    with pytest.raises(BadCounts, match=rf"has 0 files \*\.yml, and 1 to {MAX_FILES} can be pooled"):
        read_files(tmp_path)
    (tmp_path / "a.yml").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("not counted")
    assert read_files(tmp_path) == {"a.yml": counts(7, 61, 50)}
    for again in (counts(7, 62, 50), counts(8, 61, 50)):
        (tmp_path / "b.yml").write_text(render(again))
        with pytest.raises(BadCounts, match=r"b\.yml and a\.yml are of the same installation; keep the newer one"):
            read_files(tmp_path)
    (tmp_path / "b.yml").write_bytes(b"\xff")
    with pytest.raises(BadCounts, match=r"b\.yml: 'utf-8' codec can't decode"):
        read_files(tmp_path)


# ── One difference ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_paule_and_mandel_with_hartung_and_knapp() -> None:
    """The moment equation holds at the spread, and the interval is Hartung and Knapp's with Student's t."""
    effects = np.array([[0.1, 0.01], [0.5, 0.01], [-0.2, 0.01], [0.3, 0.01]])
    mean, half, spread = random_effects(effects)
    assert mean == pytest.approx(0.175)  # equal variances: the plain mean
    assert spread**2 == pytest.approx(np.var(effects[:, 0], ddof=1) - 0.01)
    assert half == pytest.approx(3.182446 * (np.var(effects[:, 0], ddof=1) / 4) ** 0.5)


def test_installations_that_agree_have_no_spread() -> None:
    """Then the interval is not narrower than the sampling error of all repairs together allows."""
    mean, half, spread = random_effects(np.array([[0.1, 0.01]] * 4))
    assert (mean, spread) == (pytest.approx(0.1), 0.0)
    assert half == pytest.approx(3.182446 * (0.01 / 4) ** 0.5)


def test_many_small_installations_show_what_one_cannot() -> None:
    """Six that all do better show it together; six that do not, do not; two are too few."""
    found = pooled([], [], files(*BETTER))
    assert (found.installations, found.tasks) == (6, 1200)
    assert found.verdict == snapshot("+0.21 (95 % interval +0.14 to +0.28): learning is better than the control arm")
    assert pooled([], [], files(*ALIKE)).verdict == snapshot(
        "+0.00 (95 % interval -0.07 to +0.07): no difference shown between learning and the control arm"
    )
    assert pooled([], [], files(*BETTER[:2])).verdict == snapshot("not known yet: 2 installations, and 3 are needed")


def test_no_single_file_makes_a_verdict() -> None:
    """A file that claims the most it can moves the mean by less than its share of two in all, and shows nothing."""
    honest = [counts(n, 53, 50) for n in range(20)]
    alone = pooled([], [], files(*honest))
    with_it = pooled([], [], {**files(*honest), "hostile.yml": HOSTILE})
    assert alone.difference == pytest.approx(0.03)
    assert with_it.difference is not None and with_it.difference - 0.03 < 2 / 21
    assert "better" not in with_it.verdict


def test_a_verdict_that_hangs_on_one_file_says_so() -> None:
    """The interval of all five excludes no difference, that of four does not: one of them could have made it."""
    found = pooled([], [], files(*(counts(n, 530 + n, 500 + n, 1000) for n in range(5))))
    assert found.verdict == snapshot("+0.03 (95 % interval +0.00 to +0.06): no difference shown without 0.yml")


def test_our_own_file_is_not_counted_beside_our_ledger() -> None:
    """A directory that all share holds our own export too: the ledger is newer, and counts instead."""
    log = [logged(n, EVEN, "a", proven=n % 2 == 0, arm=Arm.CONTROL if n % 4 == 0 else Arm.LEARNED) for n in range(40)]
    ours = replace(counts(1, 61, 50), installation=installation_of(log))
    found = pooled(log, results(log), files(counts(2, 50, 50), ours, counts(3, 51, 50)))
    assert (found.own_file, found.installations, found.tasks) == ("1.yml", 3, 440)
