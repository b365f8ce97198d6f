"""Who is let in, and with what."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest

from bot.playground.auth import Caller, Needs, authenticate, check, make_key
from bot.playground.errors import ApiError
from bot.playground.models import AccessToken, App, HostedRepository, RepositoryRole
from bot.playground.server import Fixtures
from bot.playground.world import World

ISSUES = Needs(permissions=("issues", "pull_requests"), level="write")


class Clock:
    """Time that stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        return self.now


class Scene:
    def __init__(self, root: Path) -> None:
        self.clock = Clock()
        self.world = World(root, self.clock)
        founding = Fixtures(self.world)
        founding.add_user("ada")
        founding.add_user("eve")
        self.open: HostedRepository = founding.add_repository("ada/open", {"a": "a"})
        self.hidden: HostedRepository = founding.add_repository("ada/hidden", {"a": "a"}, private=True)
        self.app: App = founding.add_app("apprentice", owner="ada")
        self.installation = founding.install(self.app, "ada/open", "ada/hidden")

    def claims(self, *, issued: int = -30, expires: int = 300) -> dict[str, object]:
        now = int(self.clock.now.timestamp())
        return {"iss": str(self.app.id), "iat": now + issued, "exp": now + expires}

    def bearer(self, claims: dict[str, object], key: str = "") -> Caller:
        return authenticate(self.world, f"Bearer {jwt.encode(claims, key or self.app.private_key, algorithm='RS256')}")

    def installed(self, *repositories: HostedRepository, **permissions: str) -> Caller:
        numbers = frozenset(each.id for each in repositories)
        return Caller(token=self.world.issue_installation_token(self.installation, numbers, permissions))

    def person(self, login: str) -> Caller:
        return Caller(token=self.world.issue_token(self.world.user(login)))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def refused(scene: Scene, caller: Caller, where: HostedRepository, needs: Needs) -> int:
    """The status of the refusal, 0 when there is none."""
    try:
        check(scene.world, caller, where, needs)
    except ApiError as refusal:
        return refusal.status
    return 0


def test_an_app_signs_in_with_its_key(scene: Scene) -> None:
    """A fresh JWT signed by the App's key is the App; its client id serves as issuer too."""
    assert scene.bearer(scene.claims()).app is scene.app
    assert scene.bearer({**scene.claims(), "iss": scene.app.client_id}).app is scene.app


@pytest.mark.parametrize(
    ("issued", "expires", "words"),
    [
        (-300, -1, "must be a numeric value representing the future time"),
        (0, 700, "is too far in the future"),
        (90, 300, "must be an Integer representing the time that the assertion was issued"),
    ],
)
def test_a_jwt_lives_ten_minutes(scene: Scene, issued: int, expires: int, words: str) -> None:
    """An expired, a too long and a not yet issued JWT are refused in GitHub's words."""
    with pytest.raises(ApiError, match="claim") as refusal:
        scene.bearer(scene.claims(issued=issued, expires=expires))
    assert refusal.value.status == 401
    assert words in refusal.value.message


def test_another_key_does_not_open(scene: Scene) -> None:
    """A JWT that another key signed, or one for no App, is refused."""
    with pytest.raises(ApiError) as forged:
        scene.bearer(scene.claims(), make_key()[0])
    with pytest.raises(ApiError) as unknown:
        scene.bearer({**scene.claims(), "iss": "1"})
    assert (forged.value.status, unknown.value.status) == (401, 404)


def test_an_unsigned_jwt_does_not_open(scene: Scene) -> None:
    """`alg: none` is refused."""
    with pytest.raises(ApiError) as refusal:
        authenticate(scene.world, f"Bearer {jwt.encode(scene.claims(), None, algorithm='none')}")
    assert refusal.value.status == 401


def test_an_installation_token_dies_after_an_hour(scene: Scene) -> None:
    """The token works for an hour and not a second longer."""
    token = scene.installed(scene.open, issues="write").token
    assert isinstance(token, AccessToken)
    scene.clock.now += timedelta(minutes=59, seconds=59)
    assert authenticate(scene.world, f"token {token.value}").token is token
    scene.clock.now += timedelta(seconds=1)
    with pytest.raises(ApiError) as refusal:
        authenticate(scene.world, f"token {token.value}")
    assert refusal.value.status == 401


def test_git_gives_the_token_as_password(scene: Scene) -> None:
    """Basic authentication takes the token as password, or as user name alone."""
    token = scene.installed(scene.open).token
    assert isinstance(token, AccessToken)
    for pair in (f"x-access-token:{token.value}", f"{token.value}:"):
        encoded = base64.b64encode(pair.encode()).decode()
        assert authenticate(scene.world, f"Basic {encoded}").token is token


@pytest.mark.parametrize("header", ["Bearer ghs_made_up", "token nonsense", "Digest x", "Basic %%%", "Bearer a.b.c"])
def test_a_bogus_credential_is_refused(scene: Scene, header: str) -> None:
    """No header that we did not issue gets in."""
    with pytest.raises(ApiError) as refusal:
        authenticate(scene.world, header)
    assert refusal.value.status == 401


def test_an_installation_token_reaches_as_far_as_it_says(scene: Scene) -> None:
    """Enough permission passes, too little is 403, a private repository outside the token is 404."""
    caller = scene.installed(scene.open, issues="write")
    assert refused(scene, caller, scene.open, ISSUES) == 0
    assert refused(scene, caller, scene.open, Needs(permissions=("contents",), level="write")) == 403
    assert refused(scene, scene.installed(scene.open, issues="read"), scene.open, ISSUES) == 403
    assert refused(scene, caller, scene.hidden, ISSUES) == 404
    assert refused(scene, scene.installed(scene.hidden, issues="write"), scene.open, ISSUES) == 403
    assert refused(scene, scene.installed(scene.hidden), scene.open, Needs(permissions=("contents",))) == 0


def test_a_person_acts_by_role(scene: Scene) -> None:
    """What is public is read by all and changed by those with the role; what is private is not there for others."""
    write = Needs(permissions=("contents",), level="write", role=RepositoryRole.WRITE)
    assert refused(scene, scene.person("ada"), scene.hidden, write) == 0
    assert refused(scene, scene.person("eve"), scene.open, ISSUES) == 0
    assert refused(scene, scene.person("eve"), scene.open, write) == 403
    assert refused(scene, scene.person("eve"), scene.hidden, ISSUES) == 404


def test_nobody_reads_only_what_is_public(scene: Scene) -> None:
    """Without a token reading is open, writing asks who it is, and private is not there."""
    assert refused(scene, Caller(), scene.open, Needs(permissions=("issues",))) == 0
    assert refused(scene, Caller(), scene.open, ISSUES) == 401
    assert refused(scene, Caller(), scene.hidden, Needs(permissions=("issues",))) == 404


def test_an_app_without_a_token_has_no_repository(scene: Scene) -> None:
    """The App's JWT opens the App's own routes only, and a token does not open those."""
    as_app = scene.bearer(scene.claims())
    assert refused(scene, as_app, scene.open, ISSUES) == 401
    assert refused(scene, as_app, scene.open, Needs(app=True)) == 0
    assert refused(scene, scene.person("ada"), scene.open, Needs(app=True)) == 401
