"""Run the agent over cases, again and again, with or without what it learned: the comparison of Reflexion on your model.

    python -m benchmarks.agent --suite SUITE --run-name NAME …   # the model is the one that APPRENTICE_MODEL_* name
    python -m benchmarks.agent compare RUN_A RUN_B               # two runs, paired by case
    python -m benchmarks.agent overhead --steps 1000             # what a step costs beyond tools and model

Exit code 0 for a run that is through, 3 for one that stopped and can be resumed, 2 for what was asked wrongly.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx

from benchmarks.agent.figures import compare, draw, report
from benchmarks.agent.folder import HOME, BadRun, Folder, Plan
from benchmarks.agent.overhead import overhead
from benchmarks.agent.runs import Halted, Trier, caps, charged, paid, run
from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.importers import history, humanevalfix, quixbugs
from memory.model import EMBEDDED, RetryMode
from memory.retrieval.embeddings import EMBEDDERS
from memory.store import open_store
from workers.agent.engine import STRATEGIES
from workers.errors import BadInput
from workers.settings import PREFIX, WorkerSettings, load

# ── The cases ────────────────────────────────────────────────────────────────────────────────────────────────────────


PAST = Path(".cache/cases/agent-history")
MARK = "made"


def cases_of(given: argparse.Namespace, folder: Path) -> list[Case]:
    """So many cases of the suite as are asked for, in an order that the seed says. Raises BadRun.

    Those that are made of data that a user gives lie below the run's folder, so that a resumed run has the same.
    """
    try:
        found = _SUITES[given.suite](given, folder / "cases")
    except BadCase as problem:
        raise BadRun(str(problem)) from None
    many = min(given.num_cases or len(found), len(found))
    return random.Random(f"cases:{given.seed}").sample(found, many)


def _folders(given: argparse.Namespace, _into: Path) -> list[Case]:
    return load_cases(_named(given.cases, "--cases DIR"))


def _history(given: argparse.Namespace, _into: Path) -> list[Case]:
    name = history.make(_named(given.repository, "--repository PATH"), PAST, most=given.num_cases or history.MOST)
    return [case for case in load_cases(PAST) if case.labels["project"] == name]


def _quixbugs(given: argparse.Namespace, into: Path) -> list[Case]:
    clone = _named(given.data, "--data CLONE, a clone of QuixBugs")
    return _made(into, lambda: quixbugs.make(clone, into))


def _humanevalfix(given: argparse.Namespace, into: Path) -> list[Case]:
    file = _named(given.data, "--data FILE, HumanEvalPack's Python lines")
    return _made(into, lambda: humanevalfix.make(file, into, oracle="examples"))


def _humaneval(given: argparse.Namespace, into: Path) -> list[Case]:
    file = _named(given.data, "--data FILE, HumanEvalPack's Python lines")
    return _made(into, lambda: humanevalfix.make_unwritten(file, into))


def _made(into: Path, make: Callable[[], None]) -> list[Case]:
    if not (into / MARK).exists():
        make()
        (into / MARK).touch()
    return load_cases(into)


def _named(path: Path | None, option: str) -> Path:
    if path is None:
        raise BadRun(f"this suite needs {option}")
    return path


_SUITES: Mapping[str, Callable[[argparse.Namespace, Path], list[Case]]] = {
    "quixbugs": _quixbugs,
    "humanevalfix": _humanevalfix,
    "humaneval": _humaneval,
    "cases": _folders,
    "history": _history,
}
SUITES = tuple(_SUITES)


# ── What a run is asked for ──────────────────────────────────────────────────────────────────────────────────────────


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
    parser.add_argument("--run-name", required=True, metavar="NAME", help=f"its state is in {HOME}/NAME")
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


# ── The commands ─────────────────────────────────────────────────────────────────────────────────────────────────────


STOPPED = 3


def main(words: Sequence[str]) -> int:
    """Entry point; gives the exit code."""
    try:
        if words[:1] == ["compare"]:
            return _compared(words[1:])
        if words[:1] == ["overhead"]:
            return _measured(words[1:])
        return _evaluated(parser_of(__doc__ or "").parse_args(words))
    except (BadRun, BadInput) as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("broken off; what is finished is kept, and --resume goes on", file=sys.stderr)
        return STOPPED


def _evaluated(given: argparse.Namespace) -> int:
    folder, settings = Folder(given.into / given.run_name), settings_of(given)
    with folder.locked():
        if folder.begun and not given.resume:
            raise BadRun(f"{folder.path} holds a run: give --resume to go on with it, or another --run-name")
        cases = cases_of(given, folder.path)
        plan = plan_of(given, settings, [case.id for case in cases])
        folder.begin(plan)
        if given.start_trial:
            folder.go_back(given.start_trial)
        return _run(given, folder, plan, cases, settings)


def _run(given: argparse.Namespace, folder: Folder, plan: Plan, cases: Sequence[Case], settings: WorkerSettings) -> int:
    stopped = ""
    with open_store(folder.accounts) as accounts:
        tiers = charged(settings, accounts.calls, caps(tokens=given.max_tokens, usd=given.max_usd))
        embedder = EMBEDDERS[settings.embedder]()
        trier = Trier(run=given.run_name, plan=plan, settings=settings, embedder=embedder, tiers=tiers)
        try:
            run(folder, plan, cases, given.num_trials, trier)
        except Halted as halt:
            stopped = str(halt)
        records = folder.records
        report(plan, records, paid(accounts))
    if records:
        draw(plan, records, folder.path)
    if stopped:
        print(f"  stopped: {stopped}")
    return STOPPED if stopped else 0


def _compared(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent compare")
    parser.add_argument("runs", nargs=2, metavar="RUN")
    parser.add_argument("--into", type=Path, default=HOME, metavar="DIR", help="where runs stand")
    given = parser.parse_args(words)
    ours, theirs = (Folder(given.into / name) for name in given.runs)
    compare(ours, theirs)
    return 0


def _measured(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent overhead")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args(words)
    if given.steps < 2 or given.runs < 1:
        parser.error("--steps is at least 2, --runs at least 1")
    overhead(given.steps, given.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
