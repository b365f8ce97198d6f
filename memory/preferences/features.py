"""What the reward model sees of a finding or a patch: a few named numbers, none of them taken from people's words. Pure."""

from __future__ import annotations

from math import log1p
from pathlib import PurePosixPath

from memory.model import Attempt, Confidence, Doubt, Finding, Severity

_SEVERITIES = list(Severity)
_DOCUMENTS = frozenset({".md", ".rst", ".txt"})
_CONFIGURATION = frozenset({"setup.py", "conf.py", "noxfile.py", "tasks.py", "manage.py", "settings.py", "conftest.py"})
_LEAST_PRIOR = 0.05


def of_finding(finding: Finding) -> dict[str, float]:
    """A finding's severity, category, tool, kind of file, and the size of what is suggested."""
    suggestion = finding.suggestion
    lines = len(suggestion.replacement.splitlines()) if suggestion else 0
    return {
        "severity": _SEVERITIES.index(finding.severity) / (len(_SEVERITIES) - 1),
        f"category={finding.category}": 1.0,
        f"tool={finding.tool}": 1.0,
        f"path={path_class(finding.path)}": 1.0,
        "suggested": float(suggestion is not None),
        "proven": float(suggestion is not None and suggestion.proof is not None),
        "size": size(lines),
    }


def of_patch(
    *,
    template: str,
    strategy: str,
    path: str,
    lines: int,
    share: float = 1.0,
    confidence: Confidence = Confidence.UNCOMPARED,
    doubt: Doubt = Doubt.NONE,
) -> dict[str, float]:
    """A patch's template and strategy, kind of file, size in changed lines, and what its rivals say of it."""
    return {
        f"template={template}": 1.0,
        f"strategy={strategy}": 1.0,
        f"path={path_class(path)}": 1.0,
        f"confidence={confidence}": 1.0,
        f"doubt={doubt or 'none'}": 1.0,
        "share": share,
        "size": size(lines),
    }


def of_attempt(attempt: Attempt, path: str) -> dict[str, float]:
    """A proven attempt's patch. Raises ValueError for one without proof: there is nothing that people could have chosen."""
    if attempt.proof is None:
        raise ValueError(f"the attempt of decision {attempt.decision_id} has no proof")
    return of_patch(
        template=attempt.shape.template if attempt.shape else "",
        strategy=attempt.strategy,
        path=path,
        lines=changed_lines(attempt.patch),
        share=attempt.proof.share,
        confidence=attempt.proof.confidence,
        doubt=attempt.proof.doubt,
    )


def prior_of_patch(share: float) -> float:
    """The chance of acceptance expected of a proven patch that has this share of the plausible weight."""
    return min(max(share, _LEAST_PRIOR), 1.0 - _LEAST_PRIOR)


def text_of_finding(finding: Finding) -> str:
    """What is embedded of a finding."""
    return f"{finding.rule} {finding.message}\n{finding.anchor}"


def path_of(patch: str) -> str:
    """The file that a unified diff makes; empty where it names none."""
    named = (line[4:].split("\t")[0] for line in patch.splitlines() if line.startswith("+++ "))
    return next(named, "").removeprefix("b/")


def changed_lines(patch: str) -> int:
    """How many lines a unified diff adds and removes."""
    return sum(line[:1] in "+-" and line[:3] not in ("+++", "---") for line in patch.splitlines() if line)


def size(lines: int) -> float:
    """A number of lines on a scale on which 20 is about 1."""
    return log1p(lines) / 3.0


def path_class(path: str) -> str:
    """What kind of file a path names: test, document, configuration or source."""
    pure = PurePosixPath(path)
    if any(part in ("test", "tests") for part in pure.parts[:-1]) or pure.name.startswith("test_"):
        return "test"
    if pure.suffix in _DOCUMENTS or "docs" in pure.parts[:-1]:
        return "document"
    return "configuration" if pure.name in _CONFIGURATION else "source"
