"""Know findings of earlier rounds again, so that each is said once, closed when it is gone, and opened when it is back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memory.model import Sighting, location_of
from workers.diffs import Change, parse_diff
from workers.flows.review_context import KnownAgain, Round
from workers.job_context import JobContext
from workers.review.engine import Reviewed
from workers.review.matching import Known, LastSeen, identities, path_now


def recognised(this: Round, reviewed: Reviewed, context: JobContext) -> tuple[Round, Reviewed]:
    """The round with what it knows again, and its findings under the fingerprints by which people know them."""
    known = {sighting.finding.fingerprint: sighting for sighting in this.earlier}
    returns = {fingerprint: sighting.returns for fingerprint, sighting in known.items()}
    this = replace(this, again=KnownAgain(returns=returns))
    gone = _told_gone(this, known, context)
    changes = _changes(this, known)
    names = identities([_last_seen(sha, changes[sha], known, gone) for sha in changes], reviewed.seen)
    here = {names[each.fingerprint]: location_of(each, this.task.sha) for each in reviewed.seen}
    again = KnownAgain(
        here={fingerprint: place for fingerprint, place in here.items() if fingerprint in known},
        paths={mark: path_now(each.place.path, changes[each.place.sha]) for mark, each in known.items()},
        gone=gone,
        returns=returns,
    )
    return replace(this, again=again), reviewed.under(names)


def seen_again(this: Round) -> list[Sighting]:
    """What earlier rounds decided upon and is still there, with where it is now."""
    known = {sighting.finding.fingerprint: sighting for sighting in this.earlier}
    return [
        replace(known[mark], last=place, returns=times_back(this, mark))
        for mark, place in this.again.here.items()
        if mark in known
    ]


def times_back(this: Round, fingerprint: str) -> int:
    """How often a finding was back after it was told to be gone, this round included."""
    return this.again.returns.get(fingerprint, 0) + (fingerprint in this.again.gone)


def _told_gone(this: Round, known: Mapping[str, Sighting], context: JobContext) -> dict[str, int]:
    """What an earlier round told to be gone, and how many threads it closed."""
    gone = {}
    for fingerprint in known:
        effect = context.store.inbox.effect(this.key_of_end(fingerprint))
        if effect is not None and effect.done_at is not None and effect.job_id != context.job_id:
            gone[fingerprint] = int(effect.reference)
    return gone


def _changes(this: Round, known: Mapping[str, Sighting]) -> dict[str, Change | None]:
    """What changed since each head at which something was last seen, the newest head first."""
    places = [sighting.place for sighting in known.values()]
    rounds = {each.sha: number for number, each in enumerate(this.before)}
    heads = sorted({place.sha for place in places}, key=lambda sha: (-rounds.get(sha, -1), sha))
    paths = frozenset(place.path for place in places) | {file.path for file in parse_diff(this.diff).files}
    return {sha: this.since(sha, paths) for sha in heads}


def _last_seen(sha: str, change: Change | None, known: Mapping[str, Sighting], gone: Mapping[str, int]) -> LastSeen:
    return LastSeen(
        known=[_known(each, mark in gone) for mark, each in known.items() if each.place.sha == sha], change=change
    )


def _known(sighting: Sighting, gone: bool) -> Known:
    place = sighting.place
    finding = replace(
        sighting.finding,
        path=place.path,
        line=place.line,
        end_line=place.end_line,
        anchor=place.anchor,
        message=place.message,
        fingerprint=place.mark,
    )
    return Known(fingerprint=sighting.finding.fingerprint, finding=finding, gone=gone)
