"""The nouns of Apprentice: frozen values, standard library only.

Everything that crosses a room of the house is one of these. Times are aware UTC datetimes,
paths are POSIX and relative to the repository's root, lines count from 1.
"""

from __future__ import annotations

from memory.model.environments import Plan, PlanOutcome
from memory.model.learning import (
    EMBEDDED,
    ENDING,
    EVERYTHING,
    PERIOD,
    REPLAY,
    STOP,
    Actor,
    Aftermath,
    Arm,
    Cell,
    Contribution,
    Decision,
    Factor,
    Level,
    LoggedDecision,
    Outcome,
    Permission,
    PolicyEvent,
    PolicyEventKind,
    Signal,
    SignalKind,
    State,
    TaskKind,
    period_of,
)
from memory.model.repairs import (
    MAJORITY,
    Among,
    Attempt,
    AttemptOutcome,
    Confidence,
    DistinguishingCall,
    Doubt,
    EditShape,
    Experience,
    Failure,
    Family,
    Frame,
    NearMiss,
    Proof,
    Recollection,
    Reflection,
    RetryMode,
    Suggestion,
    SuiteCount,
    Task,
)
from memory.model.reviews import (
    Action,
    Fate,
    Finding,
    FindingLocation,
    PastFinding,
    Post,
    PostKind,
    Severity,
    Sighting,
    location_of,
)
