"""Every setting, each also an APPRENTICE_* variable. Only this module reads the environment.

Each process reads its own settings: the web process alone has the webhook secret, the minting process alone the App's
private key, workers alone the model's key.
"""

import difflib
import os
import re
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal, Self, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from workers.errors import BadInput
from workers.redaction import own_secrets
from workers.setting_types import ModelAddress, ModelKey, ModelPrice, Principles, ReviewTool

PREFIX = "APPRENTICE_"
MODEL_STRATEGIES = ("embedded", "model:minimal", "model:related", "model:test_first")

_PASSWORD = re.compile(r"[^:]*://[^:/]*:([^@]+(?:@[^@/]+)*)@")

S = TypeVar("S", bound="Settings")


def default_home() -> Path:
    """The platform's directory for a user's data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "apprentice"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "apprentice"


class Settings(BaseSettings):
    """Settings of every process."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    home: Path = Field(default_factory=default_home, description="Where state lives: database, broker, checkouts.")
    database_url: str = Field("", description="SQLAlchemy URL; empty for an SQLite file under `home`.")
    broker_url: str = Field("", description="Celery broker (`redis://…`); empty for the embedded one under `home`.")
    start_seconds: float = Field(
        30.0,
        ge=0,
        description="How long a process of the App waits at its start for a database that does not answer; then it ends with 75.",
    )
    bot_name: str = Field(
        "apprentice", pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}$", description="The bot's name in comments: `@NAME fix`."
    )
    trigger_label: str = Field(
        "apprentice", min_length=1, description="Apprentice works on issues with this label without a command."
    )
    control_share: float = Field(
        0.1, ge=0.0, le=0.9, description="Share of tasks that ignore everything learned, for comparison."
    )
    keep_deliveries_days: int = Field(
        30, ge=4, description="Days until a delivery is pruned; GitHub can send it again for three."
    )
    keep_jobs_days: int = Field(90, ge=1, description="Days until a job that has ended is pruned.")
    keep_effects_days: int = Field(
        400,
        ge=1,
        validate_default=True,
        description="Days until the record of an effect on GitHub is pruned; until then it is not made twice.",
    )
    keep_files_days: int = Field(
        30, ge=1, description="Days until a mirror or an environment that nothing uses is pruned."
    )
    log_format: str = Field(
        "text", pattern="^(text|json)$", description="`text` for reading, `json` for log collectors."
    )
    traces_url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="OTLP/HTTP address that gets traces of deliveries and jobs, as `http://127.0.0.1:4318/v1/traces`; empty: none.",
    )

    @field_validator("*")
    @classmethod
    def _below_home(cls, value: object) -> object:  # files of variables reach no shell
        below = value.parts if isinstance(value, Path) else ()
        return Path.home().joinpath(*below[1:]) if below[:1] == ("~",) else value

    @field_validator("broker_url")
    @classmethod
    def _can_be_read(cls, url: str) -> str:
        parsed = urlsplit(url)
        _ = parsed.port  # raises ValueError for one that is no number
        if url and not (parsed.scheme in ("redis", "rediss") and re.fullmatch(r"/?\d*", parsed.path)):
            raise ValueError("must be redis://HOST:PORT/NUMBER or rediss://…, or empty for the embedded broker")
        return url

    @field_validator("keep_effects_days")
    @classmethod
    def _outlives_jobs(cls, days: int, info: ValidationInfo) -> int:
        """A job that is tried again must find what it did."""
        if days < (jobs := info.data.get("keep_jobs_days", 0)):
            raise ValueError(f"effects must be kept as long as jobs, {jobs} days")
        return days

    @model_validator(mode="after")
    def _registered(self) -> Self:
        """Have every secret among the settings removed from what this process writes."""
        for value in vars(self).values():
            if isinstance(value, SecretStr):
                own_secrets.add(value.get_secret_value())
            elif isinstance(value, str) and (password := _PASSWORD.match(value)):
                own_secrets.add(password[1])
                own_secrets.add(unquote(password[1]))
        return self

    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.home.absolute() / 'apprentice.db'}"


class WebSettings(Settings):
    """Further settings of the web process."""

    webhook_secret: SecretStr = Field(
        SecretStr(""), description="The App's webhook secret. The web process does not start without it."
    )
    host: str = Field("127.0.0.1", description="Address the web process listens on.")
    port: int = Field(8321, ge=0, le=65535, description="Port the web process listens on; 0 for a free one.")
    max_payload_mb: int = Field(
        25, ge=1, description="The web process refuses webhook bodies over this size; GitHub sends at most 25 MB."
    )

    def url(self, port: int) -> str:
        """Where this machine reaches a web process that listens on `port`."""
        every = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}  # noqa: S104  # compared, not bound
        host = every.get(self.host, self.host)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class GitHubSettings(Settings):
    """Further settings of what calls GitHub: workers, and the process that mints their tokens."""

    github_url: str = Field(
        "https://api.github.com", pattern="^https?://[^/]", description="Root of the GitHub REST API."
    )
    mint_socket: Path | None = Field(
        None, description="Unix socket of the minting process; default: `mint.sock` under `home`."
    )

    def socket(self) -> Path:
        """The address of the minting process."""
        return self.mint_socket or self.home / "mint.sock"


class MintSettings(GitHubSettings):
    """Further settings of the minting process."""

    app_id: int = Field(0, ge=0, description="The GitHub App's id.")
    private_key_file: Path | None = Field(None, description="The GitHub App's private key, a PEM file.")
    mint_peer: str = Field(
        "", description="Name or id of the user who may ask for tokens; default: the minting process's own user."
    )


class SweeperSettings(Settings):
    """Further settings of the sweeper."""

    sweep_seconds: float = Field(5.0, gt=0, description="How often the sweeper looks for lost jobs.")
    poll_seconds: float = Field(600.0, gt=0, description="How often Apprentice polls reactions.")


class SandboxTier(StrEnum):
    """What keeps untrusted code from the host: namespaces, a container of Docker or Podman, gVisor's own kernel."""

    BUBBLEWRAP = "bubblewrap"
    DOCKER = "docker"
    GVISOR = "gvisor"
    PODMAN = "podman"


class WorkerSettings(GitHubSettings):
    """Further settings of workers and local commands."""

    python: Path | None = Field(
        None,
        description="Python interpreter of the projects under repair; default: for local commands "
        "[the one that you use](environments.md#the-environments-that-you-have), else one that Apprentice makes.",
    )
    embedder: Literal["minilm", "words"] = Field(
        "minilm",
        description="How Apprentice compares failures: `minilm` by meaning; `words` by their words, without PyTorch.",
    )
    budget_seconds: float = Field(
        120.0,
        gt=0,
        description="Time for one repair, its proof included: a third at most finds what fails, the last sixth at most is kept for the proof.",
    )
    workers: int = Field(
        3,
        ge=1,
        description="Number of jobs that one `apprentice worker` runs at the same time; of two or more one is kept for answers and feedback.",
    )
    jobs_per_installation: int = Field(
        8,
        ge=0,
        description="Reviews, repairs and other long jobs of one installation that run at the same time at most, on all workers together; 0 for no limit.",
    )
    lease_seconds: float = Field(
        60.0,
        gt=0,
        description="A job's lease; another worker gets the job when its worker does not renew the lease for this long.",
    )
    max_comments: int = Field(30, ge=1, le=40, description="Inline comments in one review at most.")
    quorum: int = Field(
        2, ge=1, description="Other repositories (and users) with the same feedback before it affects a repository."
    )
    skip_ci: bool = Field(
        True, description="Commits of Apprentice carry `[skip ci]` until a person marks the draft as ready."
    )
    review_fork_tests: bool = Field(
        False, description="Run the tests of a fork's pull request without a maintainer's command."
    )
    review_tools: tuple[ReviewTool, ...] = Field(
        (), description="Further tools that check changed files, as JSON; see [review tools](review.md#review-tools)."
    )
    learn_changes: int = Field(
        2000,
        ge=0,
        description="Number of past changes to learn from when the App is installed in a repository; with 0 reviews use no history.",
    )
    share_learnings: bool = Field(
        False,
        description="Read `.apprentice/learnings.yml` on a repository's base branch as a prior, and propose changes to it on command.",
    )
    unsafe_without_sandbox: bool = Field(
        False, description="Run code without a sandbox where there is none. Only for repositories that you trust fully."
    )
    sandbox: SandboxTier = Field(
        SandboxTier.BUBBLEWRAP, description="What keeps untrusted code from the host: [the sandboxes](sandboxes.md)."
    )
    sandbox_engine: str = Field(
        "",
        description="Command of the container engine, as `docker --host unix:///run/docker.sock`; default: `docker`, or `podman`.",
    )
    sandbox_runtime: str = Field(
        "", description="OCI runtime that the engine is asked for; default: `runsc` for `gvisor`, else its own."
    )
    sandbox_memory_mb: int = Field(
        2048,
        ge=64,
        description="Memory of one sandboxed run, in MB: of its processes, of the files that it copies and writes, and of the kernel for it.",
    )
    sandbox_wall_seconds: float = Field(
        120.0, gt=0, description="Wall time of one sandboxed run of a test suite; twice as much processor time."
    )
    seed: int | None = Field(None, description="Seed of every random choice; default: a new one each time.")
    model_base_url: ModelAddress = Field(
        "",
        description="Root of an OpenAI-compatible API, as `http://127.0.0.1:8000/v1`; empty: Apprentice uses no model.",
    )
    model_api_key: ModelKey = Field(SecretStr(""), description="Key of that API; empty if it needs none.")
    model: str = Field("", validate_default=True, description="Name of the model that repairs and reviews.")
    model_weak: str = Field(
        "", description="Name of a cheaper model that summarises and criticises; empty: the same model."
    )
    model_price: ModelPrice = Field(
        "", description="US dollars per million tokens read, read from a cache, and written: `2.5,0.25,10`."
    )
    model_weak_price: ModelPrice = Field("", description="The price of the cheaper model; empty: as `model_price`.")
    model_tokens_per_run: int = Field(300_000, ge=0, description="Tokens for one repair or review; 0 for no limit.")
    model_tokens_per_day: int = Field(5_000_000, ge=0, description="Tokens a day (UTC) in total; 0 for no limit.")
    model_tokens_per_repository_day: int = Field(
        2_000_000, ge=0, description="Tokens a day (UTC) for one repository; 0 for no limit."
    )
    model_usd_per_run: float = Field(0.0, ge=0, description="US dollars for one repair or review; 0 for no limit.")
    model_usd_per_day: float = Field(0.0, ge=0, description="US dollars a day (UTC) in total; 0 for no limit.")
    model_usd_per_repository_day: float = Field(
        0.0, ge=0, description="US dollars a day (UTC) for one repository; 0 for no limit."
    )
    model_seconds: float = Field(
        600.0, gt=0, description="Time for all attempts of a model in one repair, their proofs included."
    )
    model_steps: int = Field(40, ge=1, description="Most replies of the model in one attempt of a repair.")
    model_strategies: tuple[str, ...] = Field(
        MODEL_STRATEGIES, description="The strategies of a repair with a model, as JSON."
    )
    model_principles: Principles = Field(
        None, description="File of numbered principles that judge the model's findings; default: built-in ones."
    )
    model_timeout_seconds: float = Field(120.0, gt=0, le=86_400, description="Time limit of one answer of the model.")
    model_stream: bool = Field(True, description="Stream the model's answers, if the API can.")
    job_seconds: float = Field(
        3600.0,
        gt=0,
        description="Time for one job, with all that it waits for; one that takes longer has failed, and one that hangs ends with its process.",
    )

    @field_validator("review_tools")
    @classmethod
    def _fit(cls, tools: tuple[ReviewTool, ...], info: ValidationInfo) -> tuple[ReviewTool, ...]:
        if len({tool.name for tool in tools}) < len(tools):
            raise ValueError("two tools have the same name")
        home = info.data.get("home")
        for path in (path for tool in tools for path in tool.show):
            if home and home.resolve().is_relative_to(path.resolve()):
                raise ValueError(f"{path} would show our own files in {home}; name another path")
        return tools

    @field_validator("model_strategies")
    @classmethod
    def _known(cls, strategies: tuple[str, ...]) -> tuple[str, ...]:
        if not strategies:
            raise ValueError(f"name at least one of {', '.join(MODEL_STRATEGIES)}")
        if wrong := [name for name in strategies if name not in MODEL_STRATEGIES]:
            raise ValueError(f"{wrong[0]!r} is no strategy; there are {', '.join(MODEL_STRATEGIES)}")
        return strategies

    @field_validator("model")
    @classmethod
    def _named(cls, model: str, info: ValidationInfo) -> str:
        if info.data.get("model_base_url") and not model.strip():
            raise ValueError(f"{PREFIX}MODEL_BASE_URL is set, so set the model's name too")
        return model

    @field_validator("model_usd_per_run", "model_usd_per_day", "model_usd_per_repository_day")
    @classmethod
    def _priced(cls, most: float, info: ValidationInfo) -> float:
        if most and not info.data.get("model_price"):
            raise ValueError(f"a limit in US dollars needs {PREFIX}MODEL_PRICE")
        return most


def variable(name: str) -> str:
    """A variable of another tool, such as VIRTUAL_ENV; empty where it is not set."""
    return os.environ.get(name, "")


def variables(names: re.Pattern[str]) -> dict[str, str]:
    """The variables whose whole names match."""
    return {name: value for name, value in os.environ.items() if names.fullmatch(name)}


def known_variables() -> frozenset[str]:
    kinds = (WebSettings, MintSettings, SweeperSettings, WorkerSettings)
    fields = {name for kind in kinds for name in kind.model_fields}
    return frozenset(PREFIX + name.upper() for name in fields)


def refuse_misspelt(environment: Mapping[str, str] = os.environ) -> None:
    """Raise BadInput for an unknown APPRENTICE_* variable, with the nearest known name."""
    known = known_variables()
    for name in sorted(environment):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; see docs/settings.md"
            raise BadInput(f"{name} is not a setting{hint}")


def child_environment(kind: type[Settings]) -> dict[str, str]:
    """Our environment for a child process that reads `kind`, without the settings of other processes."""
    own = {PREFIX + name.upper() for name in kind.model_fields}
    if kind is MintSettings:  # it opens neither database nor broker
        own -= {f"{PREFIX}DATABASE_URL", f"{PREFIX}BROKER_URL"}
    return variables(_OTHERS) | {name: value for name, value in os.environ.items() if name.upper() in own}


_OTHERS = re.compile(rf"(?!{PREFIX}).*", re.IGNORECASE | re.DOTALL)  # we read our own in any case


def load(kind: type[S], **given: object) -> S:
    """Read settings from the environment; `given` values win. Raises BadInput with one line for the first wrong one."""
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
        problem = f"{first['msg'][0].lower()}{first['msg'][1:]}".removeprefix("value error, ")
        raise BadInput(f"{PREFIX}{setting.upper()}{place}: {problem}; see docs/settings.md") from error


def environment_with(**given: object) -> dict[str, str]:
    """Our environment for a child process with these settings and no others."""
    return variables(_OTHERS) | {PREFIX + name.upper(): str(value) for name, value in given.items()}
