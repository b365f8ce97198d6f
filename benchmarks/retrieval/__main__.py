"""Retrieval: is it found, and how fast?

`import gitbugs|defects4j|history PATH… --into DIR` makes sets of clones; `quality --data DIR` gives hit@5 on each;
`speed --size N` times searches in this process, and with `--postgresql URL` by pgvector.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import show
from benchmarks.retrieval import importers, quality, sets, speed
from memory.retrieval.embeddings import EMBEDDERS, Embedder
from memory.retrieval.vectors import FAILURES
from memory.store import open_store
from memory.store.pgvector import open_vector_table

TEXTS = 2000
QUERIES = 100


def main() -> None:
    """Entry point; exit code 2 for what was asked wrongly."""
    parser = _parser()
    given = parser.parse_args()
    if given.what == "import":
        _import(given.kind, given.paths, given.into)
    elif given.what == "quality":
        _quality(parser, given.data, EMBEDDERS[given.embedder]())
    else:
        _speed(parser, given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    making = commands.add_parser("import", help="make sets of what others published")
    making.add_argument("kind", choices=("gitbugs", "defects4j", "history"))
    making.add_argument("paths", type=Path, nargs="+", metavar="CLONE")
    making.add_argument("--into", type=Path, required=True, metavar="DIR")
    asking = commands.add_parser("quality", help="hit@5 by words, by meaning and by both")
    timing = commands.add_parser("speed", help="milliseconds, and how many of the truly nearest are found")
    for each in (asking, timing):
        each.add_argument("--data", type=Path, required=True, metavar="DIR", help="where the sets are")
        each.add_argument("--embedder", choices=sorted(EMBEDDERS), default="minilm")
    timing.add_argument("--size", type=int, default=100_000)
    timing.add_argument("--rounds", type=int, default=3)
    timing.add_argument("--seed", type=int, default=2)
    timing.add_argument("--vectors", type=Path, metavar="FILE", help="vectors like real ones; made if it is not there")
    timing.add_argument("--postgresql", metavar="URL", help="an empty database, or one that was filled before")
    return parser


def _import(kind: str, paths: Sequence[Path], into: Path) -> None:
    if kind == "history":
        importers.history(paths, into)
        return
    for path in paths:
        {"gitbugs": importers.reports, "defects4j": importers.logs}[kind](path, into)


def _quality(parser: argparse.ArgumentParser, data: Path, embedder: Embedder) -> None:
    files = sorted(data.glob("*.jsonl"))
    if not files:
        parser.error(f"no sets in {data}: make some with `import`")
    kept = quality.Kept(embedder, data / f"{embedder.id}.npz")
    for file in files:
        found = quality.measured(sets.read(file), kept.embed)
        rows = [(way, hit.shown(3)) for way, hit in found.hits.items()]
        rows.append(("hybrid less the better single view", found.lead.shown(3)))
        show(f"{found.name}: hit@5 of {found.questions} questions over {found.cases} cases", rows)


def _speed(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    files = sorted(given.data.glob("*.jsonl"))
    if not files:
        parser.error(f"no sets in {given.data}: make some with `import`")
    texts = [f"{case.says} {case.where}" for file in files for case in sets.read(file).cases]
    vectors = _vectors(given, texts)
    queries, vectors = vectors[given.size :], vectors[: given.size]
    if given.postgresql is None:
        entries = speed.entries_like(texts, given.size, given.seed)
        index = speed.index_of(vectors, entries, FAILURES)
        speeds, where = speed.in_process(index, entries, queries, given.rounds), "in this process"
    else:
        entries = speed.entries_like((), given.size, given.seed)
        with open_store(given.postgresql) as store:
            if store.experiences.newest_sequence() == 0:
                speed.fill(store, vectors, entries)
            near = open_vector_table(store.database, speed.EMBEDDER, vectors.shape[1])
            if near is None:
                parser.error("this server has no pgvector, or does not let us use it")
            speeds, where = speed.in_postgresql(near, vectors, entries, queries, given.rounds), "by pgvector"
    rows = [
        (each.name, f"median {each.median:.1f} ms, p99 {each.p99:.1f} ms, recall@10 {each.recall:.3f}")
        for each in speeds
    ]
    show(f"{given.size:,} experiences {where}, {len(queries)} queries", rows, [f"medians of {given.rounds} rounds"])


def _vectors(given: argparse.Namespace, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors to search, and behind them those to ask for."""
    wanted = given.size + QUERIES
    if given.vectors is not None and given.vectors.is_file():
        kept = np.load(given.vectors, mmap_mode="r")
        return np.concatenate([kept[: given.size], kept[-QUERIES:]]).astype(np.float32)
    embedder = EMBEDDERS[given.embedder]()
    kept_texts = quality.Kept(embedder, given.data / f"{embedder.id}.npz")
    made = speed.alike(kept_texts.embed(texts[:: max(1, len(texts) // TEXTS)]), wanted, given.seed)
    if given.vectors is not None:
        np.save(given.vectors, made.astype(np.float16))
    return made


if __name__ == "__main__":
    main()
