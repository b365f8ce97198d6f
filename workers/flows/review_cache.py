"""Caches what a review read and proved until its round ends: a retry, or the round that takes over, goes on from there."""

import hashlib
from collections.abc import Callable

import msgspec

from memory.errors import StoreError
from memory.store import Store
from workers.flows.rounds import Round
from workers.review.engine import Reviewed

VERSION = 2
"""A changed meaning of what is cached is a new version."""


def cached_review(this: Round, read: Callable[[], Reviewed]) -> Reviewed:
    """What this round reads, or what was read for it before, under the same commits, rights and configuration."""
    key, store = _key(this), this.context.store
    if (known := _kept(key, store)) is not None:
        this.context.progress("going on from what was read before")
        return known
    reviewed = read()
    store.review_cache.put(key, reviewed, owner=_owner(this), now=this.context.clock())
    return reviewed


def forget_review(this: Round) -> None:
    """The round has ended: the next one reads again."""
    this.context.store.review_cache.remove_of(_owner(this))


def _kept(key: str, store: Store) -> Reviewed | None:
    try:
        return store.review_cache.get(key, Reviewed)
    except StoreError:  # of another version of ours
        return None


def cache_owner(repository: str, number: int) -> str:
    """Who owns what is cached of a pull request."""
    return f"{repository}#{number}"


def _owner(this: Round) -> str:
    return cache_owner(this.task.repository, this.pull.number)


def _key(this: Round) -> str:
    rights = (
        f"{this.may_run_tests}:{this.may_ask_model}:{this.context.settings.model}:{this.pull.title}:{this.pull.body}"
    )
    chosen = msgspec.json.encode(this.context.configuration, order="deterministic")
    digest = hashlib.sha256(rights.encode() + chosen).hexdigest()[:16]
    return f"{VERSION}:{_owner(this)}:{this.pull.base_sha}:{this.task.sha}:{digest}"
