"""Failures that no edit of the sources removes: tests that need the network, Docker, a locale, a service, a submodule or a
build step, files that need packages, plug-ins that fail before a test begins, and linters that run as if they were tests.
"""

import difflib
import re
import sys
from dataclasses import replace

from workers.environments.mending import build_step
from workers.environments.projects import needs_submodule
from workers.environments.tree_files import TreeFiles
from workers.repair.classify import clues_of, failure_of, innermost
from workers.sandbox.project import Project
from workers.sandbox.report import CUT_ERRORS, TestOutcome, TestReport, TestResult

_NEEDS = {
    "the network": re.compile(
        r"Name or service not known|[Nn]ame resolution|nodename nor servname|getaddrinfo failed|Network is unreachable|"
        r"No address associated with hostname|gaierror"
    ),
    "Docker": re.compile(
        r"fetching server API version|Docker daemon|DockerException|docker\.errors|No such file or directory: '(docker|podman)"
    ),
    "a locale": re.compile(r"unsupported locale setting"),
}
_REFUSED = re.compile(r"refused|[Cc]an't connect|not connect|No servers|ServerSelectionTimeout|NoBrokersAvailable")
_SERVER = re.compile(r"(?<!\d)(5432|3306|6379|27017|5672|9200|11211|9092|1433|4222|8086|4566|2379)\b")
"""A refused connection means a service where its port is that of a well-known server: a database, a queue, a cache."""

_METADATA = re.compile(
    r"(?:PackageNotFoundError: No package metadata was found for |DistributionNotFound: The ')([\w.-]+)"
)

_DOCTESTS = ("DocTestFailure", "UnexpectedException", "MultipleDoctestFailures")


def unrepairable(report: TestReport, project: Project) -> dict[str, str]:
    """The failures to set aside by id, and why."""
    reasons = ((result, _reason(result, report, project)) for result in report.failing())
    return {result.id: reason for result, reason in reasons if reason}


def _reason(result: TestResult, report: TestReport, project: Project) -> str:
    text = f"{result.error_type}: {result.message}"
    need = "a service" if _REFUSED.search(text) and _SERVER.search(text) else ""
    if need := next((each for each, pattern in _NEEDS.items() if pattern.search(text)), need):
        return f"it needs {need}, which the sandbox does not have"
    if path := needs_submodule(result, TreeFiles(project.tree)):
        return f"it needs the submodule {path}, which was not fetched (git submodule update --init)"
    if "reading from stdin while output is captured" in text:
        return "it reads standard input, which pytest refuses while it captures output (its option -s allows that)"
    if _is_lint(result, project):
        return "it is a check of a plug-in's, which no line of the project raised"
    if result.outcome is TestOutcome.ERROR and "::" in result.id and result.error_type and not result.frames:
        return f"it failed before any line of the project ran: {text.splitlines()[0]}"
    if result.error_type != "AssertionError" and (step := build_step(text)):
        return f"it needs what `{step}` makes, which a fresh checkout does not have; other failures may come from that"
    if (missing := _METADATA.search(text)) and missing[1].replace("-", "_") in _own_names(project):
        return f"the project is not installed, as by `pip install -e .`: {text.splitlines()[0]}"
    return f"it cannot be collected: {text.splitlines()[0]}" if _lacks_package(result, report, project) else ""


def _is_lint(result: TestResult, project: Project) -> bool:
    """Whether a check of a plug-in failed, as pytest-ruff's of a file: what tests raise passes through a line of the checkout.

    Some frameworks cut tracebacks, as Twisted's does, so what the file of a test defines or imports is a test.
    """
    raised = result.error_type not in ("", *_DOCTESTS, *CUT_ERRORS)
    if not raised or "::" not in result.id or result.outcome is not TestOutcome.FAILED or result.frames:
        return False
    path, _, inside = result.id.partition("::")
    name = re.split(r"::|\[", inside)[0]
    named = rf"^[ \t]*(?:(?:async )?def |class |(?:from|import) [^#\n]*)?\b{re.escape(name)}\b"
    return not re.search(named, TreeFiles(project.tree).text(path), re.MULTILINE)


def _lacks_package(result: TestResult, report: TestReport, project: Project) -> bool:
    """Whether a file cannot be collected for a reason that no edit of the sources removes."""
    failure = failure_of(replace(report, results=(result,)))
    if failure is None or result.outcome is not TestOutcome.ERROR or "::" in result.id:
        return False
    clues = clues_of(failure)
    if failure.error_type == "ModuleNotFoundError":
        known = {*_own_names(project), *sys.stdlib_module_names}  # a slip for one of these can be repaired
        return not difflib.get_close_matches(clues.module.partition(".")[0], known, n=1, cutoff=0.8)
    if failure.error_type == "ImportError" and clues.source:
        return clues.source.partition(".")[0] not in _own_names(project)
    return innermost(result.frames) is None


def _own_names(project: Project) -> set[str]:
    """What the project's import roots offer at their top."""
    roots = [project.tree / root for root in project.source_roots]
    return {entry.stem for root in roots if root.is_dir() for entry in root.iterdir() if entry.stem.isidentifier()}
