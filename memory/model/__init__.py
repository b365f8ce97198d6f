"""The nouns of Apprentice: frozen values, standard library only.

Everything that crosses a room of the house is one of these. Times are aware UTC datetimes,
paths are POSIX and relative to the repository's root, lines count from 1.
"""

from __future__ import annotations

from memory.model.evaluation import (
    LoggedDecision,
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
    FeedbackTotal,
    Level,
    Outcome,
    OutcomeTotal,
    Permission,
    Signal,
    SignalKind,
    State,
    TaskKind,
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
    DistinguishingCall,
    Doubt,
    EditShape,
    Proof,
    Suggestion,
    SuiteCount,
)
from memory.model.reviews import (
    Action,
    Finding,
    FindingLocation,
    Severity,
    Sighting,
    location_of,
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
    "DistinguishingCall",
    "Doubt",
    "EditShape",
    "Experience",
    "Factor",
    "Failure",
    "Family",
    "Fate",
    "FeedbackTotal",
    "Finding",
    "FindingLocation",
    "Frame",
    "Level",
    "LoggedDecision",
    "NearMiss",
    "Outcome",
    "OutcomeTotal",
    "PastFinding",
    "Permission",
    "PolicyEvent",
    "PolicyEventKind",
    "Post",
    "PostKind",
    "Proof",
    "Recollection",
    "Reflection",
    "RetryMode",
    "Severity",
    "Sighting",
    "Signal",
    "SignalKind",
    "State",
    "Suggestion",
    "SuiteCount",
    "Task",
    "TaskKind",
    "location_of",
]
