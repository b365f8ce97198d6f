"""The pictures that users uploaded into the text of an issue or pull request."""

from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice
from urllib.parse import urlsplit

import httpx

from workers.ports import Image

MOST, LARGEST = 3, 5_000_000
SECONDS = 20.0

_HOSTS = frozenset({"private-user-images.githubusercontent.com", "user-images.githubusercontent.com"})
_UPLOADED = "/user-attachments/assets/"
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def pictures(html: str, api_root: str) -> tuple[Image, ...]:
    """The first pictures of a rendered text that are uploaded to GitHub; skips those that cannot be fetched."""
    found = (_fetched(url) for url in sources(html) if is_ours(url, api_root))
    return tuple(islice((each for each in found if each is not None), MOST))


def sources(html: str) -> list[str]:
    """The addresses of a text's pictures, each once, in order."""
    reader = _Reader()
    reader.feed(html)
    return list(dict.fromkeys(reader.found))


def is_ours(url: str, api_root: str) -> bool:
    """Whether an address is an upload on GitHub. No text can make us call another server, or our own network."""
    try:
        asked, api = urlsplit(url), urlsplit(api_root)
        port = asked.port
    except ValueError:  # no address at all
        return False
    if asked.scheme == "https" and asked.hostname in _HOSTS and port is None:
        return True
    same = (asked.scheme, asked.netloc) == (api.scheme, api.netloc)
    public = asked.scheme == "https" and asked.netloc == "github.com"
    return (same or public) and asked.path.startswith(_UPLOADED) and ".." not in asked.path


def kind_of(content: bytes) -> str:
    """The media type by the first bytes; empty for other formats than those that models accept."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES.items() if content.startswith(signature)), "")


def _fetched(url: str) -> Image | None:
    try:
        with httpx.stream("GET", url, timeout=SECONDS, follow_redirects=False) as answer:
            content = b"".join(_bounded(answer)) if answer.status_code == httpx.codes.OK else b""
    except (httpx.HTTPError, httpx.InvalidURL):  # a picture is optional
        return None
    kind = kind_of(content)
    return Image(media_type=kind, content=content) if kind and len(content) <= LARGEST else None


def _bounded(answer: httpx.Response) -> Iterator[bytes]:
    """The chunks of a response, up to a little more than LARGEST."""
    size = 0
    for chunk in answer.iter_bytes():
        yield chunk
        size += len(chunk)
        if size > LARGEST:
            return


class _Reader(HTMLParser):
    """Collects the addresses of pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "img" and name == "src" and value]
