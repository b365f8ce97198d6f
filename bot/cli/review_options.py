"""What a review may be written as, and what it may fail on."""

from enum import StrEnum


class Format(StrEnum):
    """What a review is written as."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    RDJSONL = "rdjsonl"
    GITHUB = "github"


class FailOn(StrEnum):
    """What a review fails on, each with all before it."""

    NEVER = "never"
    TESTS = "tests"
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    ANY = "any"
