"""Whether retrieval finds what it is asked for.

`import defects4j|history CLONE… --into DIR` makes sets of clones; `quality --data DIR` gives hit@5 on each.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import show
from benchmarks.retrieval import importers, quality
from benchmarks.retrieval import quality as sets
from memory.retrieval.embeddings import EMBEDDERS, Embedder


def main() -> None:
    """Entry point; exit code 2 for what was asked wrongly."""
    parser = _parser()
    given = parser.parse_args()
    if given.what == "import":
        _import(given.kind, given.paths, given.into)
    else:
        _quality(parser, given.data, EMBEDDERS[given.embedder]())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    making = commands.add_parser("import", help="make sets of what others published")
    making.add_argument("kind", choices=("defects4j", "history"))
    making.add_argument("paths", type=Path, nargs="+", metavar="CLONE")
    making.add_argument("--into", type=Path, required=True, metavar="DIR")
    asking = commands.add_parser("quality", help="hit@5 by words, by meaning and by both")
    asking.add_argument("--data", type=Path, required=True, metavar="DIR", help="where the sets are")
    asking.add_argument("--embedder", choices=sorted(EMBEDDERS), default="minilm")
    return parser


def _import(kind: str, paths: Sequence[Path], into: Path) -> None:
    if kind == "history":
        importers.history(paths, into)
        return
    for path in paths:
        importers.logs(path, into)


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


if __name__ == "__main__":
    main()
