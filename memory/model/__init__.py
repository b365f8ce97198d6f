"""The nouns of Apprentice: frozen values, standard library only.

Everything that crosses a room of the house is one of these. Times are aware UTC datetimes,
paths are POSIX and relative to the repository's root, lines count from 1.
"""

from __future__ import annotations

from memory.model.evaluation import (
    Logged,
    PolicyEvent,
    PolicyEventKind,
)
from memory.model.failures import (
    Failure,
    Family,
    Frame,
)
from memory.model.learning import (
    EMBEDDED,
    Actor,
    Arm,
    Cell,
    Contribution,
    Decision,
    Factor,
    Judgement,
    Level,
    Outcome,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
    Verdict,
)
from memory.model.past import Fate, PastFinding
from memory.model.reflections import (
    NearMiss,
    Reflection,
    RetryMode,
)
from memory.model.repairs import (
    MAJORITY,
    Attempt,
    AttemptOutcome,
    Confidence,
    Doubt,
    EditShape,
    Proof,
    Suggestion,
    SuiteCount,
    Telling,
)
from memory.model.reviews import (
    Action,
    Finding,
    Place,
    Severity,
    Sighting,
    place_of,
)
from memory.model.skills import (
    Rewrite,
    Skill,
    SkillState,
)
from memory.model.tasks import (
    Among,
    Experience,
    Post,
    PostKind,
    Recollection,
    Task,
)

__all__ = [
    "EMBEDDED",
    "MAJORITY",
    "Action",
    "Actor",
    "Among",
    "Arm",
    "Attempt",
    "AttemptOutcome",
    "Cell",
    "Confidence",
    "Contribution",
    "Decision",
    "Doubt",
    "EditShape",
    "Experience",
    "Factor",
    "Failure",
    "Family",
    "Fate",
    "Finding",
    "Frame",
    "Judgement",
    "Level",
    "Logged",
    "NearMiss",
    "Outcome",
    "PastFinding",
    "Permission",
    "Place",
    "PolicyEvent",
    "PolicyEventKind",
    "Post",
    "PostKind",
    "Proof",
    "Recollection",
    "Reflection",
    "RetryMode",
    "Rewrite",
    "Severity",
    "Sighting",
    "Signal",
    "SignalKind",
    "Skill",
    "SkillState",
    "State",
    "Suggestion",
    "SuiteCount",
    "Task",
    "TaskKind",
    "Telling",
    "Verdict",
    "place_of",
]
