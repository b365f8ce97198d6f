"""What a run is asked for on the command line, and what of that makes its plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import httpx

from benchmarks.agent.folder import HOME
from benchmarks.agent.records import BadRun, Plan
from benchmarks.agent.suites import SUITES
from memory.model import EMBEDDED, RetryMode
from workers.agent.strategies import STRATEGIES
from workers.settings import PREFIX, WorkerSettings, load

MODES = {
    "none": RetryMode.NONE,
    "last_attempt": RetryMode.LAST_ATTEMPT,
    "reflection": RetryMode.REFLECTION,
    "last_attempt_and_reflection": RetryMode.BOTH,
}
OURS = "apprentice"
"""Who owns the models that `apprentice model-server` lists."""


def parser_of(description: str) -> argparse.ArgumentParser:
    """The options of a run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agent", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=SUITES, required=True)
    _add_data(parser)
    _add_setting(parser)
    parser.add_argument("--run-name", required=True, metavar="NAME", help=f"its state stands in {HOME}/NAME")
    parser.add_argument("--into", type=Path, default=HOME, metavar="DIR", help="where runs stand")
    parser.add_argument("--num-trials", type=_above_0, default=1, help="each goes over all cases again")
    parser.add_argument("--resume", action="store_true", help="keep what is finished and do the rest")
    parser.add_argument(
        "--start-trial", type=_above_0, metavar="K", help="with --resume: do trial K and later ones anew"
    )
    parser.add_argument("--max-tokens", type=_above_0, default=0, metavar="N", help="stop before the run takes more")
    parser.add_argument("--max-usd", type=float, default=0.0, metavar="X", help="stop before the run costs more")
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=Path, metavar="DIR", help="of --suite cases: a folder of case folders")
    parser.add_argument("--repository", type=Path, metavar="PATH", help="of --suite history: a clone")
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="of the others: a clone of QuixBugs, HumanEvalPack's lines"
    )
    parser.add_argument("--num-cases", type=_above_0, metavar="N", help="so many, drawn by --seed; default: all")


def _add_setting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--use-memory", dest="memory", action="store_true", default=True, help="the default")
    parser.add_argument(
        "--no-memory", dest="memory", action="store_false", help="every case begins with an empty memory"
    )
    parser.add_argument("--retry-mode", choices=MODES, default="last_attempt_and_reflection")
    parser.add_argument("--strategies", nargs="+", choices=[EMBEDDED, *STRATEGIES], default=[*STRATEGIES])
    parser.add_argument("--attempts", type=_above_0, default=1, help="tries of a case within one trial")
    parser.add_argument("--held-out", action="store_true", help="learn on one half of the cases, evaluate on the other")
    parser.add_argument("--seed", type=int, default=1)


def _above_0(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def settings_of(given: argparse.Namespace) -> WorkerSettings:
    """The settings in force: those of the environment, less what belongs to an installation. Raises BadInput and BadRun."""
    settings = load(
        WorkerSettings,
        home=given.into / given.run_name,
        database_url="",
        control_share=0.0,
        seed=given.seed,
        model_tokens_per_day=0,
        model_tokens_per_repository_day=0,
        model_usd_per_day=0.0,
        model_usd_per_repository_day=0.0,
    )
    if not settings.model_base_url:
        raise BadRun(f"no model is set: {PREFIX}MODEL_BASE_URL and {PREFIX}MODEL name the one to evaluate")
    if given.max_usd and not settings.model_price:
        raise BadRun(f"--max-usd needs {PREFIX}MODEL_PRICE: without it no dollar is counted")
    if given.start_trial and not given.resume:
        raise BadRun("--start-trial goes with --resume")
    return settings


def plan_of(given: argparse.Namespace, settings: WorkerSettings, cases: Sequence[str]) -> Plan:
    """What the run is."""
    return Plan(
        suite=given.suite,
        cases=tuple(cases),
        memory=given.memory,
        retry_mode=MODES[given.retry_mode],
        strategies=tuple(given.strategies),
        attempts=given.attempts,
        held_out=given.held_out,
        seed=given.seed,
        model=settings.model,
        scripted=is_scripted(settings.model_base_url, settings.model_api_key.get_secret_value()),
    )


def is_scripted(base_url: str, key: str) -> bool:
    """Whether the endpoint says of itself that it is our stand-in. One that lists no models is taken for a real one."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx.get(f"{base_url}/models", headers=headers, timeout=10.0)
        listed = answer.json()["data"] if answer.is_success else []
        return any(each.get("owned_by") == OURS for each in listed)
    except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError):
        return False
