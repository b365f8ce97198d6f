"""`python -m tests.fuzz --seconds N [TARGET …]`: coverage-guided fuzzing with atheris, each target N seconds long.

Found inputs stay in `.cache/fuzz-corpus`; `--keep` adds to `tests/fuzz/corpus` the few that reach what none there
reaches, for the test that replays them. A failing input is written there too, as `crash-…`. Exit code 1 with a failure.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("corpus")
CACHE = ROOT / ".cache"
LONGEST = 4096
INSIDE = "--inside"
MAX_KEPT = 30
OURS = tuple(str(ROOT / package) for package in ("bot", "workers", "memory"))


def main() -> int:
    if sys.argv[1:2] == [INSIDE]:
        fuzz(sys.argv[2], sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which targets; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="time for each target")
    parser.add_argument("--keep", action="store_true", help="add inputs that reach more to tests/fuzz/corpus")
    given = parser.parse_args()
    from tests.fuzz.targets import TARGETS

    failed = False
    for name in given.targets or TARGETS:
        failed |= run(name, given.seconds)
        if given.keep:
            keep(name)
    return int(failed)


def run(name: str, seconds: int) -> bool:
    """Fuzz one target in a process of its own and print its figures; whether it failed."""
    from tests.fuzz.seeds import SEEDS

    found, kept = CACHE / "fuzz-corpus" / name, KEPT / name
    for place in (found, kept):
        place.mkdir(parents=True, exist_ok=True)
    for seed in SEEDS[name]:
        (found / sha256(seed).hexdigest()[:16]).write_bytes(seed)
    words = sorted({word for seed in SEEDS[name] for word in re.findall(rb"[A-Za-z_@/<>~`+-]{2,24}", seed)})
    tokens = CACHE / f"fuzz-{name}.dict"
    tokens.write_text("".join(f'"{word.decode()}"\n' for word in words[:400]))
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2048"]
    figures = ["-print_final_stats=1", f"-artifact_prefix={kept}/", f"-dict={tokens}"]
    command = [sys.executable, "-m", "tests.fuzz", INSIDE, name, *limits, *figures, str(found), str(kept)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    log = CACHE / f"fuzz-{name}.log"
    log.write_text(done.stdout + done.stderr)
    say(f"{name}: {figures_of(done.stderr)}, exit code {done.returncode}")
    if done.returncode:
        say(f"failed; the input is in {kept}, the whole log in {log}\n{tail(done)}")
    return done.returncode != 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def figures_of(log: str) -> str:
    """Executions, and the coverage at the start and at the end, as libFuzzer counts them."""
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", log) or re.findall(r"^#(\d+)", log, re.MULTILINE)
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", log)
    if not covered:
        return f"{runs[-1] if runs else 0} executions"
    (edges, features, _), (more, most, inputs) = covered[0], covered[-1]
    return f"{runs[-1]} executions, edges {edges} → {more}, features {features} → {most}, {inputs} inputs"


def tail(done: subprocess.CompletedProcess[str]) -> str:
    """The Python traceback of a failure, or else the last lines."""
    text = done.stderr + done.stdout
    start = text.find("Traceback (most recent call last)")
    return text[start : start + 3000] if start >= 0 else text[-1500:]


def fuzz(name: str, options: list[str]) -> None:
    """Inside the process of one target: instrument our packages and give control to libFuzzer."""
    sys.path.append(str(CACHE / "fuzz"))
    import atheris
    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    with atheris.instrument_imports(include=["bot", "workers", "memory"]):
        from tests.fuzz.targets import TARGETS

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        return mutated(data, random.Random(seed))[:most] if seed % 3 == 0 else atheris.Mutate(data, most)

    atheris.Setup([sys.argv[0], *options], TARGETS[name], custom_mutator=mutate)
    atheris.Fuzz()


VALUES = (
    None,
    True,
    0,
    -1,
    2**31,
    1e308,
    "",
    "x",
    "../x",
    "/etc/passwd",
    "@apprentice fix",
    "\x00",
    "é😀",
    [],
    {},
    [[]],
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The input with one value of its JSON replaced, copied or dropped, below its first byte or not; as it was without JSON."""
    for start in (0, 1):
        try:
            document = json.loads(data[start:])
        except (ValueError, RecursionError):
            continue
        places = list(containers(document))
        if places:
            where = chance.choice(places)
            key = chance.choice(list(where) if isinstance(where, dict) else range(len(where)))
            other = chance.choice(places)
            value = chance.choice(
                [chance.choice(VALUES), chance.choice(list(other.values() if isinstance(other, dict) else other))]
            )
            where[key] = json.loads(json.dumps(value))
        return data[:start] + json.dumps(document, ensure_ascii=chance.random() < 0.5).encode("utf-8", "replace")
    return data


def containers(node: object) -> Iterator[dict | list]:
    """The objects and arrays in a document that hold something."""
    if isinstance(node, dict | list) and node:
        yield node
        for each in node.values() if isinstance(node, dict) else node:
            yield from containers(each)


def keep(name: str) -> None:
    """Add the inputs that reach lines which none of the kept ones reaches, those that add the most first."""
    from tests.fuzz.targets import TARGETS

    target, kept = TARGETS[name], KEPT / name
    reached: set[tuple[str, int]] = set()
    for path in sorted(kept.iterdir()):
        reached |= lines_reached(target, path.read_bytes())
    found = {path: path.read_bytes() for path in (CACHE / "fuzz-corpus" / name).iterdir()}
    gains = {path: lines_reached(target, data) - reached for path, data in found.items()}
    while len(list(kept.iterdir())) < MAX_KEPT:
        best = max(gains, key=lambda path: (len(gains[path]), -path.stat().st_size), default=None)
        if best is None or not gains[best]:
            break
        (kept / sha256(found[best]).hexdigest()[:16]).write_bytes(found[best])
        gained = gains.pop(best)
        gains = {path: left for path, lines in gains.items() if (left := lines - gained)}
    say(f"{name}: {len(list(kept.iterdir()))} inputs kept")


def lines_reached(target: object, data: bytes) -> set[tuple[str, int]]:
    """The lines of our packages that run for an input."""
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _argument: object) -> object:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        target(data)  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001  a failing input is kept as well
        say(f"fails: {type(error).__name__}")
    finally:
        sys.settrace(None)
    return reached


if __name__ == "__main__":
    sys.exit(main())
