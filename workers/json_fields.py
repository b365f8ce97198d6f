"""Fields of foreign JSON, by path and type: each is named once, where it is used."""

from typing import TypeVar

T = TypeVar("T")


class WrongField(ValueError):
    """A document lacks a field, or has another type there."""


def below(node: object, path: str) -> object:
    """What is below an object, by keys with dots between; None where it is left out. Raises WrongField below anything else."""
    for key in path.split("."):
        if node is None:
            return None
        if not isinstance(node, dict):
            raise WrongField(f"{key!r} is below something else than an object")
        node = node.get(key)
    return node


def field(node: object, path: str, kind: type[T], otherwise: T | None = None) -> T:
    """A value of this type below an object; `otherwise` in place of one that is left out. Raises WrongField."""
    found = below(node, path)
    found = otherwise if found is None else found
    if not isinstance(found, kind):
        raise WrongField(f"its {path!r} is no {kind.__name__}")
    return found
