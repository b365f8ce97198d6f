"""The refusals of GitHub, in its own words and shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DOCS = "https://docs.github.com/rest"


@dataclass(eq=False)
class ApiError(Exception):
    """Answer this request with an error in GitHub's shape."""

    status: int
    message: str
    errors: tuple[Mapping[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> dict[str, object]:
        errors: dict[str, object] = {"errors": list(self.errors)} if self.errors else {}
        return {"message": self.message, **errors, "documentation_url": DOCS, "status": str(self.status)}


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def bad_credentials() -> ApiError:
    return ApiError(401, "Bad credentials")


def forbidden_app(missing: str) -> ApiError:
    """The token's permissions do not reach; the header names those that would."""
    headers = {"X-Accepted-GitHub-Permissions": missing}
    return ApiError(403, "Resource not accessible by integration", headers=headers)


def forbidden_user() -> ApiError:
    return ApiError(403, "Must have push access to repository")


def invalid(resource: str, name: str = "", code: str = "custom", message: str = "") -> ApiError:
    """A 422 about one field. `code` is GitHub's: missing_field, invalid, already_exists, custom."""
    named = {"resource": resource, "field": name, "code": code, "message": message}
    return ApiError(422, "Validation Failed", ({key: value for key, value in named.items() if value},))


def unprocessable(message: str) -> ApiError:
    """A 422 without a list of errors."""
    return ApiError(422, message)
