"""Fetches files of package indexes by their hash. Nothing that is fetched is unpacked or executed here."""

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import httpx

from workers.environments.uv_command import NoIndex, PackageIndexes
from workers.errors import CannotRun

SECONDS, ATTEMPTS = 60.0, 3
MAX_FILE_BYTES = 2 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file of an index, with the hash that the index states; `size` in bytes, 0 if it is unknown."""

    filename: str
    url: str
    sha256: str
    size: int = 0


def fetched(file: RemoteFile, place: Path, given: PackageIndexes, progress: Callable[[str], None]) -> Path:
    """The file below `place`, whose content has its hash: a copy there that has not is fetched again, with a line that says so.

    Raises CannotRun for a file with another hash, NoIndex when the index does not answer at the third attempt.
    """
    target = place / file.sha256 / Path(file.filename).name
    if target.is_file():
        if digest(target) == file.sha256:
            target.touch()
            return target
        progress(f"the cached {file.filename} was changed: it is not used, and fetched anew")
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _download(file, target, given)
            break
        except NoIndex:
            if attempt == ATTEMPTS:
                raise
            time.sleep(attempt)
    return target


def _download(file: RemoteFile, target: Path, given: PackageIndexes) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent.parent, delete=False) as stream:
        temporary = Path(stream.name)
        try:
            total = hashlib.sha256()
            for piece in _pieces(file.url, given):
                total.update(piece)
                stream.write(piece)
                if stream.tell() > MAX_FILE_BYTES:
                    raise CannotRun(f"{file.filename} is larger than {MAX_FILE_BYTES >> 20} MB: refused")
            if total.hexdigest() != file.sha256:
                raise CannotRun(f"{file.filename} has another hash than its index states: refused")
            temporary.chmod(0o644)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def path_of(url: str) -> Path:
    """The path of a file's URL, or of a bare path."""
    return Path(url2pathname(urlsplit(url).path))


def _pieces(url: str, given: PackageIndexes) -> Iterator[bytes]:
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        try:
            with path_of(url).open("rb") as stream:
                yield from iter(lambda: stream.read(1 << 20), b"")
        except OSError as error:
            raise CannotRun(f"{parts.path} cannot be read: {error.strerror}") from error
        return
    index = next((each for each in map(urlsplit, given.all) if each.hostname == parts.hostname), parts)
    account = (unquote(index.username), unquote(index.password or "")) if index.username else None
    try:
        with (
            httpx.Client(timeout=SECONDS, follow_redirects=True, auth=account) as client,
            client.stream("GET", url) as answer,
        ):
            answer.raise_for_status()
            yield from answer.iter_bytes()
    except httpx.HTTPError as error:
        raise NoIndex(f"{parts.path.rpartition('/')[2]}: {type(error).__name__}") from error
