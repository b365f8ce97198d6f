"""Posts, sightings and the repositories that they are in."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from memory.model import Action, Finding, Post, PostKind, Severity, Sighting, location_of
from memory.store import Store
from workers.jobs import RepositoryRef


def post(github_id: int, created_at: datetime, *, repository: str = "o/r", number: int = 3) -> Post:
    return Post(
        repository=repository,
        kind=PostKind.REVIEW_COMMENT,
        number=number,
        github_id=github_id,
        decision_ids=("d1", "d2"),
        fingerprint="f1",
        created_at=created_at,
    )


def sighting(decision_id: str, created_at: datetime, *, fingerprint: str = "abcdef", number: int = 3) -> Sighting:
    finding = Finding(
        fingerprint=fingerprint,
        path="a.py",
        line=3,
        end_line=4,
        tool="ruff",
        rule="B006",
        category="bug",
        severity=Severity.MAJOR,
        message="mutable default",
        anchor="def f(x=[]):",
    )
    return Sighting(
        repository="o/r",
        number=number,
        sha="1" * 40,
        decision_id=decision_id,
        finding=finding,
        action=Action.INLINE,
        created_at=created_at,
    )


def test_a_post_is_found_by_what_github_calls_it(store: Store, now: datetime) -> None:
    """A post comes back by repository, kind and id on GitHub, ids of more than 32 bits included."""
    big = post(2**40, now)
    assert store.posts.add(big)
    assert store.posts.find("o/r", PostKind.REVIEW_COMMENT, 2**40) == big
    assert store.posts.find("o/r", PostKind.ISSUE_COMMENT, 2**40) is None
    assert store.posts.find("o/other", PostKind.REVIEW_COMMENT, 2**40) is None


def test_a_known_post_stays_as_it_was(store: Store, now: datetime) -> None:
    """Adding a post again changes nothing."""
    assert store.posts.add(post(1, now))
    assert not store.posts.add(replace(post(1, now), decision_ids=("other",)))
    assert store.posts.on("o/r", 3) == [post(1, now)]


def test_posts_stand_on_their_number(store: Store, now: datetime) -> None:
    """What was posted on one pull request is listed oldest first, without that of others."""
    late, early = post(1, now + timedelta(seconds=1)), post(2, now)
    for each in (late, early, post(3, now, number=4), post(4, now, repository="o/other")):
        store.posts.add(each)
    assert store.posts.on("o/r", 3) == [early, late]


def test_watching_ends(store: Store, now: datetime) -> None:
    """A post is watched until it is unwatched, and a repository as long as one of its posts is."""
    for each in (post(1, now), post(2, now), post(3, now, repository="o/other")):
        store.posts.add(each)
    assert store.posts.repositories_watched(now) == ["o/other", "o/r"]
    store.posts.unwatch("o/r", PostKind.REVIEW_COMMENT, 1)
    assert store.posts.watched("o/r", now) == [post(2, now)]
    assert store.posts.find("o/r", PostKind.REVIEW_COMMENT, 1) == replace(post(1, now), watched=False)
    store.posts.unwatch("o/r", PostKind.REVIEW_COMMENT, 2)
    assert store.posts.repositories_watched(now) == ["o/other"]
    store.posts.watch_again("o/r", 3)
    assert store.posts.watched("o/r", now) == [post(1, now), post(2, now)]


def test_only_what_is_recent_is_watched(store: Store, now: datetime) -> None:
    """A post counts from the time that is asked for on."""
    later = now + timedelta(seconds=1)
    for each in (post(1, now), post(2, later), post(3, now, repository="o/other")):
        store.posts.add(each)
    assert store.posts.watched("o/r", later) == [post(2, later)]
    assert store.posts.repositories_watched(later) == ["o/r"]
    store.posts.unwatch_all("o/r")
    assert store.posts.repositories_watched(now) == ["o/other"]


def test_sightings_are_remembered_once(store: Store, now: datetime) -> None:
    """A sighting is stored once for its pull request and decision, and listed oldest first."""
    late, early = sighting("d1", now + timedelta(seconds=1)), sighting("d2", now)
    assert store.posts.add_sightings([late, early, sighting("d3", now, number=4)]) == 3
    assert store.posts.add_sightings([late]) == 0
    assert store.posts.sightings("o/r", 3) == [early, late]


def test_sightings_are_found_by_the_start_of_a_fingerprint(store: Store, now: datetime) -> None:
    """A prefix finds every sighting that it starts, and means nothing else than itself."""
    store.posts.add_sightings([sighting("d1", now, fingerprint="abc1"), sighting("d2", now, fingerprint="abd2")])
    found = {
        prefix: [each.decision_id for each in store.posts.sighting_by_fingerprint(prefix)]
        for prefix in ("abc", "ab", "b", "", "a%", "a_d")
    }
    assert found == {"abc": ["d1"], "ab": ["d1", "d2"], "b": [], "": [], "a%": [], "a_d": []}


def test_repositories_are_as_last_seen(store: Store) -> None:
    """A repository seen again under another installation is polled through that one."""
    for name, number, installation in (("o/r", 2**40, 7), ("o/a", 5, 7), ("o/r", 2**40, 8)):
        known = RepositoryRef(full_name=name, id=number, installation_id=installation)
        store.repositories.put(name, known)
    assert store.repositories.all(RepositoryRef) == [
        RepositoryRef(full_name="o/a", id=5, installation_id=7),
        RepositoryRef(full_name="o/r", id=2**40, installation_id=8),
    ]


def test_a_sighting_is_known_by_where_it_was_last_seen(store: Store, now: datetime) -> None:
    """A later round moves it and counts its returns; what was decided, and when, stays, and so do the others."""
    first, other = sighting("d1", now), sighting("d2", now + timedelta(seconds=1))
    store.posts.add_sightings([first, other])
    assert store.posts.sightings("o/r", 3)[0].place == location_of(first.finding, first.sha)
    seen = replace(location_of(replace(first.finding, path="b.py", line=9), "2" * 40), mark="0" * 32)
    store.posts.update_sightings([replace(first, last=seen, returns=1)])
    assert store.posts.sightings("o/r", 3) == [replace(first, last=seen, returns=1), other]
    assert store.posts.sighting_by_fingerprint("abc")[0].place == seen
