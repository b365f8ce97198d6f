"""YAML with the lines that its values stand on, from files that nobody vouches for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from workers.review.detectors.detector import DetectorFailed

MAX_CHARACTERS = 200_000
MAX_NODES = 20_000


def composed(text: str) -> yaml.Node | None:
    """The root of the one document in `text`, None when it is empty; raises DetectorFailed when it is not to be read."""
    if len(text) > MAX_CHARACTERS:
        raise DetectorFailed(f"too large to be read as YAML: over {MAX_CHARACTERS:,} characters")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise DetectorFailed(f"not YAML ({' '.join(str(error).split())[:120]})") from error
    if root is not None and sum(1 for _ in nodes(root)) > MAX_NODES:
        raise DetectorFailed(f"too large to be read as YAML: over {MAX_NODES:,} values")
    return root


def nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Every node below, each once however often an alias names it."""
    seen, waiting = set[int](), [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for child in node.value if isinstance(node, yaml.CollectionNode) else ():
            waiting += child if isinstance(child, tuple) else (child,)


def entries(node: yaml.Node | None) -> dict[str, yaml.Node]:
    """A mapping's values by key; empty for what is none."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """A sequence's items; empty for what is none."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def text_of(node: yaml.Node | None) -> str:
    """A scalar's text; empty for what is none."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def words(node: yaml.Node | None) -> set[str]:
    """A scalar, the items of a sequence, or the keys of a mapping: the ways to write a list of names."""
    return {text_of(node)} - {""} | {text_of(item) for item in items(node)} | set(entries(node))


def lines_of(node: yaml.Node) -> range:
    """The lines that a node covers, from 1; a block's end mark stands on the line after it."""
    first, end = node.start_mark.line + 1, node.end_mark.line + 1
    return range(first, max(first + 1, end + (node.end_mark.column > 0)))
