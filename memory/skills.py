"""Skills: proven edits without their names, how well they do, and which of them fit a failure.

Nothing is counted or kept here: a skill is derived from experiences and signals each time, so that feedback that was taken
back and experiences that were forgotten leave no trace, and the same memory gives the same skills.
"""

import builtins
import difflib
import hashlib
import keyword
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import sqrt

from memory.model import AttemptOutcome, EditShape, Experience, Recollection, Signal
from memory.rewards import clipped, support
from memory.store import Store
from memory.store.evidence import QUORUM

PRIOR_WINS, PRIOR_LOSSES = 0.1, 1.9
"""An untried skill is expected to repair one failure in twenty, a belief worth two tries: edits of other repositories
hardly ever fit (docs/repair.md)."""

PRIOR_RATE = PRIOR_WINS / (PRIOR_WINS + PRIOR_LOSSES)

TEACHING, ACCEPTING = 0.25, 0.25
"""What each fix that taught a skill counts as a win, and what each maintainer who accepted one of them counts."""

UPPER = 1.645
"""Standard deviations from the mean of a rate to its upper bound, about its 95 % quantile."""

GOOD_RATE = 0.2
"""From this rate on a skill is tried at failures that resemble none of those that it repaired."""

MAX_READ = 2000
"""Experiences that skills are derived from, the latest."""

MAX_TOKENS = 80
"""Tokens of either side of a skill. A longer edit fits one place only."""

_KEPT_TYPES: tuple[type, ...] = (str, bytes, list, dict, set, frozenset, tuple, int, float)

EVERYWHERE: frozenset[str] = (
    frozenset(keyword.kwlist)
    | frozenset(dir(builtins))
    | frozenset(name for kind in _KEPT_TYPES for name in dir(kind) if not name.startswith("_"))
    | frozenset({"self", "cls", "deepcopy", "__init__", "key", "reverse"})
)
"""Names that mean the same everywhere: keywords, builtins, methods of builtin types."""

CONSTANTS = frozenset({"0", "1", "2", "0.0", "1.0"})
"""Numbers that mean something by themselves."""

_SILENT = re.compile(r"\.|[a-zA-Z]{0,2}'?\$\d+'?")
"""Tokens of a shape that mean nothing by themselves: a hole, a string that is one, and the dot between two."""

_OPEN_OR_EMPTY = re.compile(r"\$\d+|[a-zA-Z]{0,2}'(?:\$\d+)?'")
_WORD = re.compile(r"[^\W\d]\w*|\d")
_AND = " … "


class SkillState(StrEnum):
    """`candidate`: no maintainer accepted a fix that taught it; `active`: one did; `retired`: it stopped working."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """An edit that the experiences `taught_by` prove, at failures of these families, by the tests or by maintainers.

    `teachers` are the accounts that accepted any of them. `tries` are repairs in which it was tried, `wins` those of them
    that it proved and no maintainer rejected; `rate` is the mean of the rate's posterior.
    """

    shape: EditShape
    families: tuple[str, ...]
    taught_by: tuple[str, ...]
    repositories: tuple[str, ...]
    teachers: tuple[int, ...] = ()
    tries: int = 0
    wins: int = 0
    rate: float = 0.0
    state: SkillState = SkillState.CANDIDATE

    @property
    def name(self) -> str:
        """The template that makes the edit, and a digest of the edit."""
        return name_of(self.shape)


def name_of(shape: EditShape) -> str:
    text = "\0".join((shape.template, shape.before, shape.after))
    return f"{shape.template}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:6]}"


def written_out(shape: EditShape) -> str:
    """The edit for readers: what it replaces, and by what, with the spaces that people write."""
    sides = list[str]()
    for tokens in (shape.before.split(), shape.after.split()):
        text = "".join(tokens[:1])
        for before, token in pairwise(tokens):  # no spaces around dots, within brackets and before an argument list
            called = token in ("(", "[") and (before[-1] in ")]" or before[0] == "$" or before.isidentifier())
            tight = token[0] in ".,:)]" or before in (".", "(", "[") or (called and not keyword.iskeyword(before))
            text += token if tight else f" {token}"
        sides.append(text or "nothing")
    return " → ".join(sides)


def tried_as(name: str) -> str:
    """What tries of a skill are counted under, beside those of templates."""
    return f"skill:{name}"


def composed(one: EditShape, other: EditShape) -> EditShape:
    """The shape of two edits that were made together."""
    return EditShape(
        template=f"{one.template}+{other.template}",
        before=f"{one.before}{_AND}{other.before}",
        after=f"{one.after}{_AND}{other.after}",
    )


def parts_of(shape: EditShape) -> tuple[EditShape, ...]:
    """The edits that a shape is composed of: itself, if it is one edit."""
    if "+" not in shape.template:
        return (shape,)
    sides = zip(shape.template.split("+"), shape.before.split(_AND), shape.after.split(_AND), strict=False)
    return tuple(EditShape(template=template, before=before, after=after) for template, before, after in sides)


def teaches(shape: EditShape) -> bool:
    """Whether an edit says anything where the names are others.

    It does if an operator, a builtin, a kept literal or structure is part of what changed, or if the same tokens change
    places. `$0` → `$1` or `$0.$1` → `$0.$2` do not: every name in scope would fit them.
    """
    before, after = shape.before.split(), shape.after.split()
    if max(len(before), len(after)) > MAX_TOKENS:
        return False
    if before != after and sorted(before) == sorted(after):
        return True
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = (t for kind, a, b, c, d in changes if kind != "equal" for t in (*before[a:b], *after[c:d]))
    return not all(_SILENT.fullmatch(token) for token in changed)


def is_public(shape: EditShape) -> bool:
    """Whether all that an edit spells out means the same everywhere: builtins, their methods, small numbers."""
    tokens = (token for side in (shape.before, shape.after) for token in side.split())
    return all(
        token in EVERYWHERE or token in CONSTANTS or not _WORD.search(_OPEN_OR_EMPTY.sub("", token)) for token in tokens
    )


def derived(experiences: Sequence[Experience], signals: Iterable[Signal]) -> tuple[Skill, ...]:
    """The skills of these experiences with the signals about them, the best first."""
    verdicts: defaultdict[str, float] = defaultdict(float)
    accepting: defaultdict[str, set[int]] = defaultdict(set)
    for signal in signals:
        verdict = support(signal)
        verdicts[signal.decision_id] += verdict
        if verdict > 0.0:
            accepting[signal.decision_id].add(signal.actor.id)
    accepted = [each for each in experiences if _is_proven(each) and _is_accepted(each, verdicts[each.id])]
    taught: defaultdict[EditShape, list[Experience]] = defaultdict(list)
    for each in accepted:
        for shape in _edits(each):
            if teaches(shape):
                taught[shape].append(each)
    tries, wins = _tasks(experiences), _tasks(accepted, won=True)
    skills = [
        _skill(shape, by, accepting, len(tries[name_of(shape)]), len(wins[name_of(shape)]))
        for shape, by in taught.items()
    ]
    return tuple(sorted(skills, key=lambda skill: (-skill.rate, skill.name)))


def _is_proven(experience: Experience) -> bool:
    return experience.outcome is AttemptOutcome.PROVEN


def _is_accepted(experience: Experience, verdict: float) -> bool:
    """Whether no maintainer rejected an edit; where the tests did not decide on it, whether one accepted it."""
    return verdict > 0.0 or (verdict == 0.0 and not experience.contested)


def _edits(experience: Experience) -> tuple[EditShape, ...]:
    return parts_of(experience.shape) if experience.shape is not None else ()


def _tasks(experiences: Iterable[Experience], *, won: bool = False) -> defaultdict[str, set[str]]:
    """The repairs in which each skill was tried, or made a part of the edit that was proven."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for experience in experiences:
        made = {tried_as(name_of(shape)) for shape in _edits(experience)}
        for key, count in experience.tried.items():
            if count and key.startswith(tried_as("")) and (not won or key in made):
                found[key.removeprefix(tried_as(""))].add(experience.task_id)
    return found


def _skill(
    shape: EditShape, by: Sequence[Experience], accepting: Mapping[str, set[int]], tries: int, wins: int
) -> Skill:
    teachers = {account for each in by for account in accepting.get(each.id, ())}
    taught = TEACHING * len(by) + ACCEPTING * len(teachers)
    successes, failures = PRIOR_WINS + wins + taught, PRIOR_LOSSES + tries - wins
    rate = successes / (successes + failures)  # the mean of its Beta posterior
    upper = rate + UPPER * sqrt(rate * (1.0 - rate) / (successes + failures + 1.0))
    active = SkillState.ACTIVE if teachers else SkillState.CANDIDATE
    return Skill(
        shape=shape,
        families=tuple(sorted({each.family for each in by})),
        taught_by=tuple(sorted(each.id for each in by)),
        repositories=tuple(sorted({each.repository for each in by})),
        teachers=tuple(sorted(teachers)),
        tries=tries,
        wins=wins,
        rate=rate,
        state=SkillState.RETIRED if upper < PRIOR_RATE else active,
    )


def current(store: Store) -> tuple[Skill, ...]:
    """The skills of the memory as it is now."""
    experiences = store.experiences.all(limit=MAX_READ)
    proven = [each.id for each in experiences if _is_proven(each)]
    return derived(experiences, store.ledger.live_signals(proven))


def usable(skills: Iterable[Skill], repository: str, quorum: int = QUORUM) -> tuple[Skill, ...]:
    """The skills that may be used in a repository, in their order.

    What a repository's own fixes taught may be used there; elsewhere only what `quorum` maintainers accepted, and what
    shows nothing of the code that taught it.
    """
    return tuple(each for each in skills if each.state is not SkillState.RETIRED and _reaches(each, repository, quorum))


def _reaches(skill: Skill, repository: str, quorum: int) -> bool:
    return repository in skill.repositories or (len(skill.teachers) >= quorum and is_public(skill.shape))


def fitting(
    skills: Sequence[Skill], recalled: Iterable[Recollection], *, family: str, repository: str, quorum: int = QUORUM
) -> dict[EditShape, float]:
    """The edits to try at a failure, each with how well it fits, within (0, 1]; give what was recalled without rejected fixes.

    An edit that repaired a recalled failure fits as well as that failure resembles this one; a skill with a good record at
    failures of this family fits as often as it succeeds.
    """
    retired = {each.shape for each in skills if each.state is SkillState.RETIRED}
    fits: list[tuple[EditShape, float]] = []
    for each in recalled:
        if _is_proven(each.experience):
            own = each.experience.repository == repository
            fits += [(shape, clipped(each.score)) for shape in _edits(each.experience) if own or is_public(shape)]
    on_record = (each for each in usable(skills, repository, quorum) if each.rate >= GOOD_RATE)
    fits += [(each.shape, each.rate) for each in on_record if family in each.families]
    found: dict[EditShape, float] = {}
    for shape, weight in fits:
        if weight > 0.0 and shape not in retired and teaches(shape):
            found[shape] = max(weight, found.get(shape, 0.0))
    return found
