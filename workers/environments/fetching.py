"""Reads the pages of package indexes, and fetches files by their hash. Nothing that is fetched is unpacked or executed here."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

import httpx
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from workers.environments.uv_command import NoIndex, PackageIndexes
from workers.errors import CannotRun

PYPI = "https://pypi.org/simple"
JSON, HTML = "application/vnd.pypi.simple.v1+json", "text/html"
SECONDS = 60.0
MOST_PAGE_BYTES, MOST_FILE_BYTES = 64 << 20, 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file of an index, with the hash that the index states; `size` in bytes, 0 if it is unknown."""

    filename: str
    url: str
    sha256: str
    size: int = 0
    requires_python: str = ""


def fetched(file: RemoteFile, place: Path, given: PackageIndexes, progress: Callable[[str], None]) -> Path:
    """The file below `place`, whose content has its hash: a copy there that has not is fetched anew, with a line that says so.

    Raises CannotRun for a file with another hash, NoIndex when the index does not answer.
    """
    target = place / file.sha256 / Path(file.filename).name
    if target.is_file():
        if digest(target) == file.sha256:
            target.touch()
            return target
        progress(f"the cached {file.filename} was changed: it is not used, and fetched anew")
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place, delete=False) as stream:
        temporary = Path(stream.name)
        try:
            total = hashlib.sha256()
            for piece in _pieces(file.url, given):
                total.update(piece)
                stream.write(piece)
                if stream.tell() > MOST_FILE_BYTES:
                    raise CannotRun(f"{file.filename} is larger than {MOST_FILE_BYTES >> 20} MB: refused")
            if total.hexdigest() != file.sha256:
                raise CannotRun(f"{file.filename} has another hash than its index states: refused")
            temporary.chmod(0o644)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    return target


def digest(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def source_of(name: str, wanted: SpecifierSet, python: str, given: PackageIndexes) -> RemoteFile:
    """The newest source distribution that fits, on the first index that knows the name. Raises CannotRun without one."""
    for index in (*given.first, given.main or PYPI):
        files = list(_listed(index, canonicalize_name(name)))
        fitting = [
            (version, file) for file in files if (version := _version(file, name)) is not None and _fits(file, python)
        ]
        final = [each for each in fitting if wanted.contains(each[0], prereleases=False)]
        if found := final or [each for each in fitting if wanted.contains(each[0], prereleases=True)]:
            return max(found, key=lambda each: each[0])[1]
        if files:
            break
    raise CannotRun(f"no index has a wheel or a source distribution of {name}{wanted} for Python {python}")


def host_that_answers(given: PackageIndexes) -> str:
    """The host of the main index, which has a page of pytest. Raises NoIndex."""
    index = given.main or PYPI
    if not any(_listed(index, "pytest")):
        raise NoIndex(f"{index_host(index)} has no page of pytest")
    return index_host(index)


def index_host(index: str) -> str:
    """The host of an index, or its directory, without an account."""
    parts = urlsplit(index)
    return parts.hostname or parts.path


def _version(file: RemoteFile, name: str) -> Version | None:
    try:
        found, version = parse_sdist_filename(file.filename)
    except (InvalidSdistFilename, InvalidVersion):
        return None
    return version if found == canonicalize_name(name) and file.sha256 else None


def _fits(file: RemoteFile, python: str) -> bool:
    try:
        return SpecifierSet(file.requires_python).contains(python)
    except InvalidSpecifier:
        return True


def _listed(index: str, name: str) -> Iterator[RemoteFile]:
    """The files of a project's page (PEP 503 and 691); nothing where the index has no such page."""
    page = f"{index.rstrip('/')}/{name}/"
    if urlsplit(page).scheme == "file":
        local = Path(url2pathname(urlsplit(page).path)) / "index.html"
        if local.is_file():
            yield from _of_html(local.read_text(encoding="utf-8", errors="replace"), page)
        return
    try:
        with _client(index) as client:
            answer = client.get(page, headers={"Accept": f"{JSON}, {HTML};q=0.1"})
    except httpx.HTTPError as error:
        raise NoIndex(f"{index_host(index)}: {type(error).__name__}") from error
    if answer.status_code in (403, 404, 410):
        return
    if not answer.is_success:
        raise NoIndex(f"{index_host(index)} answered {answer.status_code} for {name}")
    if "json" not in answer.headers.get("Content-Type", ""):
        yield from _of_html(answer.text, str(answer.url))
        return
    try:
        files = [(each["filename"], each["url"], each["hashes"], each) for each in answer.json()["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise NoIndex(f"{index_host(index)} has a page of {name} that cannot be read") from error
    for filename, url, hashes, each in files:
        requires = each.get("requires-python") or ""
        sha256 = hashes.get("sha256", "")
        yield RemoteFile(filename=filename, url=urljoin(str(answer.url), url), sha256=sha256, requires_python=requires)


def _of_html(text: str, page: str) -> Iterator[RemoteFile]:
    reader = _Links()
    reader.feed(text[:MOST_PAGE_BYTES])
    for link in reader.found:
        url = urlsplit(urljoin(page, link.get("href") or ""))
        hashed = re.fullmatch(r"sha256=([0-9a-f]{64})", url.fragment)
        yield RemoteFile(
            filename=unquote(url.path.rpartition("/")[2]),
            url=url._replace(fragment="").geturl(),
            sha256=hashed[1] if hashed else "",
            requires_python=link.get("data-requires-python") or "",
        )


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))


def _pieces(url: str, given: PackageIndexes) -> Iterator[bytes]:
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        try:
            with Path(url2pathname(parts.path)).open("rb") as stream:
                yield from iter(lambda: stream.read(1 << 20), b"")
        except OSError as error:
            raise CannotRun(f"{parts.path} cannot be read: {error.strerror}") from error
        return
    index = next((each for each in (*given.first, given.main) if urlsplit(each).hostname == parts.hostname), url)
    try:
        with _client(index) as client, client.stream("GET", url) as answer:
            answer.raise_for_status()
            yield from answer.iter_bytes()
    except httpx.HTTPError as error:
        raise NoIndex(f"{parts.path.rpartition('/')[2]}: {type(error).__name__}") from error


def _client(index: str) -> httpx.Client:
    """A client with the account that an index's URL names, for that index's own host."""
    parts = urlsplit(index)
    account = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return httpx.Client(timeout=SECONDS, follow_redirects=True, auth=account)
