"""Every setting, each also an APPRENTICE_* variable; the one door to the environment.

The web process reads `WebSettings` and never sees a key; workers read `WorkerSettings` and never see the webhook secret.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from workers.errors import BadInput

PREFIX = "APPRENTICE_"
OWN_DETECTORS = frozenset({"ruff", "bandit", "mypy", "secrets", "dependencies", "workflows", "model"})
MODEL_STRATEGIES = ("embedded", "model:minimal", "model:related", "model:test_first", "model:propose")

_PRICE = re.compile(r"\d+(\.\d+)?(,\d+(\.\d+)?){2}")
"""Shorter values of such variables are words that may stand anywhere."""

S = TypeVar("S", bound="Settings")


def default_home() -> Path:
    """The platform's directory for a user's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "apprentice"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "apprentice"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "apprentice"


class Settings(BaseSettings):
    """What every process reads."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    home: Path = Field(default_factory=default_home, description="Where state lives: database, broker, checkouts.")
    database_url: str = Field("", description="SQLAlchemy URL; empty for an SQLite file under `home`.")
    broker_url: str = Field("", description="Celery broker (`redis://…`); empty for the embedded one under `home`.")
    bot_name: str = Field("apprentice", description="The name people call it by in comments: `@NAME fix`.")
    trigger_label: str = Field(
        "apprentice", description="Issues opened with this label are taken up without a command."
    )
    control_share: float = Field(
        0.1, ge=0.0, le=0.9, description="Share of tasks that use nothing learned, as the yardstick of learning."
    )
    log_format: str = Field("text", pattern="^(text|json)$", description="`text` for people, `json` for collectors.")

    def database(self) -> str:
        """The database URL in force."""
        return self.database_url or f"sqlite:///{self.home / 'apprentice.db'}"


class WebSettings(Settings):
    """What the web process reads besides."""

    webhook_secret: SecretStr = Field(SecretStr(""), description="The App's webhook secret. Without it nothing starts.")
    host: str = Field("127.0.0.1", description="Address the web process listens on.")
    port: int = Field(8321, ge=0, le=65535, description="Port the web process listens on; 0 for a free one.")
    max_payload_mb: int = Field(
        25, ge=1, description="Webhook bodies over this size are refused; GitHub sends at most 25 MB."
    )


class ReviewTool(BaseModel):
    """A tool of the operator's that reads changed files in reviews.

    `command` gets the files in the place of `{files}`, else at its end. `show` are paths of this machine that it needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{1,30}$")
    command: tuple[str, ...] = Field(min_length=1)
    format: Literal["sarif", "rdjson", "rdjsonl"]
    files: tuple[str, ...] = Field(min_length=1)
    category: Literal["security", "correctness", "performance", "maintainability", "style"] = "maintainability"
    show: tuple[Path, ...] = ()

    @field_validator("name")
    @classmethod
    def _not_ours(cls, name: str) -> str:
        if name in OWN_DETECTORS:
            raise ValueError(f"{name} is the name of a detector of our own; choose another")
        return name

    @field_validator("command", "files")
    @classmethod
    def _not_empty(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if not all(word.strip() for word in words) or not words[0].isprintable():
            raise ValueError("no word may be empty")
        return words

    @field_validator("show")
    @classmethod
    def _there(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        missing = next((path for path in paths if not path.is_absolute() or not path.exists()), None)
        if missing is not None:
            raise ValueError(f"{missing} is not an absolute path that exists")
        return paths


class WorkerSettings(Settings):
    """What workers and local commands read besides."""

    github_url: str = Field("https://api.github.com", description="Root of the GitHub REST API.")
    app_id: int = Field(0, ge=0, description="The GitHub App's id.")
    private_key_file: Path | None = Field(None, description="The GitHub App's private key, a PEM file.")
    python: Path | None = Field(
        None, description="Interpreter of the projects under repair; default: the project's `.venv`, else our own."
    )
    embedder: Literal["minilm", "words"] = Field(
        "minilm",
        description="How failures are compared: `minilm` by meaning; `words` by their words, without loading PyTorch.",
    )
    budget_seconds: float = Field(120.0, gt=0, description="Time for one repair.")
    workers: int = Field(2, ge=1, description="Jobs done at the same time by one `apprentice worker`.")
    lease_seconds: float = Field(60.0, gt=0, description="A job whose worker is silent this long is given to another.")
    sweep_seconds: float = Field(5.0, gt=0, description="How often what got lost is looked for.")
    poll_seconds: float = Field(600.0, gt=0, description="How often reactions are polled.")
    max_comments: int = Field(30, ge=1, le=40, description="Inline comments in one review at most.")
    quorum: int = Field(
        2, ge=1, description="Other repositories (and people) that must have taught something before it reaches one."
    )
    review_fork_tests: bool = Field(False, description="Run the tests of a fork's pull request without being asked.")
    review_tools: tuple[ReviewTool, ...] = Field(
        (), description="Further tools that read changed files, as JSON; see [review tools](review.md#review-tools)."
    )
    learn_changes: int = Field(
        2000, ge=0, description="Changes of a repository's past that are read when the App is installed; 0 for none."
    )
    share_learnings: bool = Field(
        False,
        description="Read `.apprentice/learnings.yml` on a repository's base branch as a prior, and propose changes to it when asked.",
    )
    unsafe_without_sandbox: bool = Field(
        False, description="Run code without a sandbox where none can be had. Only for repositories you trust fully."
    )
    sandbox_memory_mb: int = Field(2048, ge=64, description="Memory of one sandboxed run.")
    sandbox_wall_seconds: float = Field(300.0, gt=0, description="Wall time of one sandboxed run of a test suite.")
    seed: int | None = Field(None, description="Seed of every random choice; default: fresh each time.")
    model_base_url: str = Field(
        "", description="Root of an OpenAI-compatible API, as `http://127.0.0.1:8000/v1`; empty: no model is asked."
    )
    model_api_key: SecretStr = Field(SecretStr(""), description="Key of that API; empty where it wants none.")
    model: str = Field("", validate_default=True, description="Name of the model that repairs and reviews.")
    model_weak: str = Field("", description="Name of a cheaper one that sums up and criticises; empty: the same.")
    model_price: str = Field(
        "", description="US dollars per million tokens read, read from a cache, and written: `2.5,0.25,10`."
    )
    model_weak_price: str = Field("", description="The same of the cheaper model; empty: as `model_price`.")
    model_tokens_per_run: int = Field(300_000, ge=0, description="Tokens for one repair or review; 0 for no limit.")
    model_tokens_per_day: int = Field(5_000_000, ge=0, description="Tokens a day (UTC) over all; 0 for no limit.")
    model_tokens_per_repository_day: int = Field(
        2_000_000, ge=0, description="Tokens a day (UTC) for one repository; 0 for no limit."
    )
    model_usd_per_run: float = Field(0.0, ge=0, description="US dollars for one repair or review; 0 for no limit.")
    model_usd_per_day: float = Field(0.0, ge=0, description="US dollars a day (UTC) over all; 0 for no limit.")
    model_usd_per_repository_day: float = Field(
        0.0, ge=0, description="US dollars a day (UTC) for one repository; 0 for no limit."
    )
    model_seconds: float = Field(600.0, gt=0, description="Time for all that a model tries in one repair.")
    model_steps: int = Field(40, ge=1, description="Replies of the model in one attempt of a repair at most.")
    model_strategies: tuple[str, ...] = Field(
        MODEL_STRATEGIES, description="What a repair chooses between where there is a model, as JSON."
    )
    model_principles: Path | None = Field(
        None, description="A file of numbered principles that the model's findings are judged by; default: our own."
    )
    model_timeout_seconds: float = Field(120.0, gt=0, description="Time for one answer of the model.")
    model_stream: bool = Field(True, description="Have answers sent as they are written, where the API can.")

    @field_validator("review_tools")
    @classmethod
    def _named_once(cls, tools: tuple[ReviewTool, ...]) -> tuple[ReviewTool, ...]:
        if len({tool.name for tool in tools}) < len(tools):
            raise ValueError("two tools have the same name")
        return tools

    @field_validator("model_base_url")
    @classmethod
    def _http(cls, url: str) -> str:
        if url and not re.match(r"https?://[^\s/]", url):
            raise ValueError("write it as https://host/v1, or leave it empty")
        return url

    @field_validator("model_strategies")
    @classmethod
    def _known(cls, strategies: tuple[str, ...]) -> tuple[str, ...]:
        if not strategies:
            raise ValueError(f"name at least one of {', '.join(MODEL_STRATEGIES)}")
        if wrong := [name for name in strategies if name not in MODEL_STRATEGIES]:
            raise ValueError(f"{wrong[0]!r} is no strategy; there are {', '.join(MODEL_STRATEGIES)}")
        return strategies

    @field_validator("model_principles")
    @classmethod
    def _principled(cls, path: Path | None) -> Path | None:
        """A file that is there, is text, and numbers at least one principle."""
        try:
            text = path.read_text(encoding="utf-8") if path else "1. Ours."
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8") from error
        if not re.search(r"^\d+\. \S", text, re.MULTILINE):
            raise ValueError(f"{path} has no principle; write each on a line, as `1. …`")
        return path

    @field_validator("model")
    @classmethod
    def _named(cls, model: str, info: ValidationInfo) -> str:
        if info.data.get("model_base_url") and not model.strip():
            raise ValueError(f"{PREFIX}MODEL_BASE_URL is set, so name the model to ask there")
        return model

    @field_validator("model_price", "model_weak_price")
    @classmethod
    def _three_prices(cls, price: str) -> str:
        if price and not _PRICE.fullmatch(price):
            raise ValueError("write three prices in US dollars per million tokens, as 2.5,0.25,10")
        return price

    @field_validator("model_usd_per_run", "model_usd_per_day", "model_usd_per_repository_day")
    @classmethod
    def _priced(cls, most: float, info: ValidationInfo) -> float:
        if most and not info.data.get("model_price"):
            raise ValueError(f"money can be counted only where {PREFIX}MODEL_PRICE is set")
        return most


def known_variables() -> frozenset[str]:
    """The name of every variable that means something."""
    fields = {*WebSettings.model_fields, *WorkerSettings.model_fields}
    return frozenset(PREFIX + name.upper() for name in fields)


def refuse_misspelt(environment: Mapping[str, str] = os.environ) -> None:
    """Raise BadInput for an APPRENTICE_* variable that no setting has, naming the nearest that one has."""
    known = known_variables()
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; see docs/settings.md"
            raise BadInput(f"{name} is not a setting{hint}")


def child_environment(*, without: type[Settings], keep: type[Settings]) -> dict[str, str]:
    """Our environment for a child process, less the settings that only `without` has."""
    private = set(without.model_fields) - set(keep.model_fields)
    dropped = {PREFIX + name.upper() for name in private}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def load(kind: type[S], **given: object) -> S:
    """Read settings from the environment, `given` ones first; raises BadInput with one line for the first that is wrong."""
    refuse_misspelt()
    try:
        return kind(**given)  # type: ignore[arg-type]  # pydantic is there to check them
    except SettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        raise BadInput(f"{PREFIX}{named[1].upper() if named else ''}: not JSON; see docs/settings.md") from error
    except ValidationError as error:
        first = error.errors()[0]
        setting, *inside = (str(part) for part in first["loc"])
        place = f" at {'.'.join(inside)}" if inside else ""
        said = f"{first['msg'][0].lower()}{first['msg'][1:]}"
        raise BadInput(f"{PREFIX}{setting.upper()}{place}: {said}; see docs/settings.md") from error


def environment_with(**given: object) -> dict[str, str]:
    """Our environment for a child process with these settings and no others."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return inherited | {PREFIX + name.upper(): str(value) for name, value in given.items()}
