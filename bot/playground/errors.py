"""The ways in which GitHub says no, in its own words and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One entry of a validation error. `code` is GitHub's: missing_field, invalid, already_exists, custom, …"""

    resource: str
    field: str = ""
    code: str = "custom"
    message: str = ""

    def json(self) -> dict[str, str]:
        named = {"resource": self.resource, "field": self.field, "code": self.code, "message": self.message}
        return {key: value for key, value in named.items() if value}


@dataclass(eq=False)
class ApiError(Exception):
    """Answer this request with an error in GitHub's shape."""

    status: int
    message: str
    faults: tuple[FieldError, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    docs: str = DOCS

    def json(self) -> dict[str, object]:
        errors: dict[str, object] = {"errors": [fault.json() for fault in self.faults]} if self.faults else {}
        return {"message": self.message, **errors, "documentation_url": self.docs, "status": str(self.status)}


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def bad_credentials() -> ApiError:
    return ApiError(401, "Bad credentials")


def forbidden_app(missing: str) -> ApiError:
    """The token's permissions do not reach; GitHub names what would have."""
    headers = {"X-Accepted-GitHub-Permissions": missing}
    return ApiError(403, "Resource not accessible by integration", headers=headers)


def forbidden_user() -> ApiError:
    return ApiError(403, "Must have push access to repository")


def invalid(*faults: FieldError) -> ApiError:
    return ApiError(422, "Validation Failed", faults)


def unprocessable(message: str) -> ApiError:
    """A 422 without a list of errors."""
    return ApiError(422, message)


def missing(resource: str, name: str) -> ApiError:
    return invalid(FieldError(resource=resource, field=name, code="missing_field"))
