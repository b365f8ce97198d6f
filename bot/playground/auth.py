"""Who is calling, and whether they may: App keys, installation tokens, personal tokens."""

import base64
import binascii
from dataclasses import dataclass

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.playground.errors import ApiError, bad_credentials, forbidden_app, forbidden_user, not_found
from bot.playground.models import AccessToken, ActingAccount, App, HostedRepository, RepositoryRole
from bot.playground.world import World

_LEVELS = {"": 0, "read": 1, "write": 2, "admin": 3}
_LONGEST_JWT = 600
_CLOCK_DRIFT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a request requires: one of these App permissions at this level, or this role of a user.

    No permissions: any installation token will do. `app` asks for the App's own JWT instead.
    """

    permissions: tuple[str, ...] = ()
    level: str = "read"
    role: RepositoryRole = RepositoryRole.READ
    app: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An anonymous client (no token), a user or an installation (`token`), or an App itself (`app`)."""

    token: AccessToken | None = None
    app: App | None = None

    @property
    def name(self) -> str:
        """For the request log."""
        if self.token:
            return self.token.user.login
        return f"app:{self.app.slug}" if self.app else ""

    def actor(self) -> ActingAccount:
        """The account that acts; raises ApiError 401 for an anonymous client and for an App without an installation token."""
        if self.token is None:
            raise ApiError(401, "Requires authentication")
        return ActingAccount(user=self.token.user, via=self.token.installation.app if self.token.installation else None)


def make_key() -> tuple[str, str]:
    """A new RSA key as GitHub makes one for an App: private and public PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def authenticate(world: World, header: str) -> Caller:
    """The caller that an Authorization header names; raises ApiError 401."""
    if not header:
        return Caller()
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "basic":
        return Caller(token=_token(world, _password(value)))
    if scheme.lower() not in ("bearer", "token"):
        raise bad_credentials()
    if value.count(".") == 2:
        return Caller(app=_app(world, value))
    return Caller(token=_token(world, value))


def _password(encoded: str) -> str:
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise bad_credentials() from None
    return password or user


def _token(world: World, value: str) -> AccessToken:
    known = world.tokens.get(value.strip())
    if known is None or (known.expires_at is not None and known.expires_at <= world.now()):
        raise bad_credentials()
    if known.installation and known.installation.id not in world.installations:
        raise bad_credentials()
    return known


def _app(world: World, value: str) -> App:
    """Verify an App's JWT as GitHub does: RS256 by the App's key, at most ten minutes long, issued in the past."""
    try:
        issuer = str(jwt.decode(value, options={"verify_signature": False}).get("iss", ""))
        app = next(each for each in world.apps.values() if issuer in (str(each.id), each.client_id))
        claims = jwt.decode(value, app.public_key, algorithms=["RS256"], options={"require": ["exp", "iat"]})
    except StopIteration:
        raise ApiError(404, "Integration not found") from None
    except jwt.ExpiredSignatureError:
        problem = "must be a numeric value representing the future time at which the assertion expires"
        raise ApiError(401, f"'Expiration time' claim ('exp') {problem}") from None
    except jwt.ImmatureSignatureError:
        problem = "must be an Integer representing the time that the assertion was issued"
        raise ApiError(401, f"'Issued at' claim ('iat') {problem}") from None
    except jwt.InvalidTokenError:
        raise ApiError(401, "A JSON web token could not be decoded") from None
    if claims["exp"] > world.now().timestamp() + _LONGEST_JWT + _CLOCK_DRIFT:
        raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
    return app


def check(world: World, caller: Caller, repo: HostedRepository | None, needs: Needs) -> None:
    """Raise ApiError where the caller may not do this."""
    if needs.app:
        if caller.app is None:
            raise ApiError(401, "A JSON web token could not be decoded")
        return
    if caller.app is not None:
        raise bad_credentials()
    if repo is None:
        return
    if caller.token is None:
        _check_anonymous(repo, needs)
    elif caller.token.installation:
        _check_installation(caller.token, repo, needs)
    else:
        _check_person(world, caller.token, repo, needs)


def _check_anonymous(repo: HostedRepository, needs: Needs) -> None:
    if repo.private:
        raise not_found()
    if _LEVELS[needs.level] > 1:
        raise ApiError(401, "Requires authentication")


def _check_installation(token: AccessToken, repo: HostedRepository, needs: Needs) -> None:
    wanted = ",".join(f"{name}={needs.level}" for name in needs.permissions)
    if repo.id not in token.repository_ids:
        if repo.private:
            raise not_found()
        if _LEVELS[needs.level] > 1:
            raise forbidden_app(wanted)
        return
    held = max((_LEVELS[token.permissions.get(name, "")] for name in needs.permissions), default=_LEVELS[needs.level])
    if held < _LEVELS[needs.level]:
        raise forbidden_app(wanted)


def _check_person(world: World, token: AccessToken, repo: HostedRepository, needs: Needs) -> None:
    role = world.role(token.user, repo)
    if role < RepositoryRole.READ:
        raise not_found()
    if role < needs.role:
        raise forbidden_user()
