"""A package index on loopback, for tests: pages as PEP 503 and 691 describe them, and packages that are made on the fly."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/vnd.pypi.simple.v1+json"


def wheel(name: str, version: str, files: Mapping[str, str] = {}, requires: Sequence[str] = ()) -> bytes:
    """A wheel for every Python."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        *(f"Requires-Dist: {each}" for each in requires),
    ]
    meta = {
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return zipped({**files, **meta, f"{info}/RECORD": "".join(f"{path},,\n" for path in (*files, *meta))})


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()


def sdist(name: str, version: str, files: Mapping[str, str]) -> bytes:
    """A source distribution, whose metadata are known to its backend alone."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def installed_as_wheel(name: str) -> tuple[str, bytes]:
    """The file name and content of a wheel that is put together again from what is installed here."""
    found = importlib.metadata.distribution(name)
    files = {str(path): path.locate().read_bytes() for path in found.files or () if ".." not in path.parts}
    kept = {
        path: data
        for path, data in files.items()
        if not path.endswith((".pyc", "RECORD", "INSTALLER", "direct_url.json"))
    }
    info = next(path.partition("/")[0] for path in kept if ".dist-info/" in path)
    kept[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in kept).encode()
    return f"{info.removesuffix('.dist-info')}-py3-none-any.whl", zipped(kept)


@dataclass
class PackageIndex:
    """Its files, the names that were asked for, and files that are served with other bytes than the pages say.

    `cut` counts the downloads of a file that still end half-way, `uploaded` holds the days of files, by name.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    swapped: dict[str, bytes] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    uploaded: dict[str, str] = field(default_factory=dict)

    def add(self, filename: str, content: bytes) -> str:
        """Offer a file; its hash."""
        self.files[filename] = content
        return hashlib.sha256(content).hexdigest()

    def add_wheel(self, name: str, version: str, files: Mapping[str, str] = {}, requires: Sequence[str] = ()) -> str:
        return self.add(f"{name.replace('-', '_')}-{version}-py3-none-any.whl", wheel(name, version, files, requires))

    def add_sdist(self, name: str, version: str, files: Mapping[str, str]) -> str:
        return self.add(f"{name}-{version}.tar.gz", sdist(name, version, files))

    def page(self, name: str) -> list[tuple[str, str, int]]:
        """File names, hashes and sizes of one distribution."""
        kept = {path: data for path, data in self.files.items() if path.replace("_", "-").startswith(f"{name}-")}
        return [(path, hashlib.sha256(data).hexdigest(), len(data)) for path, data in kept.items()]


@contextmanager
def package_index() -> Iterator[PackageIndex]:
    """An index that serves until the context ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, _, name = self.path.strip("/").partition("/")
            if kind == "files" and name in index.files:
                whole = index.cut.get(name, 0) == 0
                index.cut[name] = index.cut.get(name, 0) - (not whole)
                self.answer("application/octet-stream", index.swapped.get(name, index.files[name]), whole=whole)
            elif kind == "simple" and (found := index.page(name)):
                index.asked.append(name)
                if "json" in self.headers.get("Accept", ""):
                    listed = [
                        {"filename": f, "url": f"/files/{f}", "hashes": {"sha256": h}, "size": s}
                        | ({"upload-time": f"{index.uploaded[f]}T00:00:00Z"} if f in index.uploaded else {})
                        for f, h, s in found
                    ]
                    page = {"meta": {"api-version": "1.1"}, "name": name, "versions": [], "files": listed}
                    self.answer(JSON, json.dumps(page).encode())
                else:
                    links = (f'<a href="/files/{f}#sha256={h}">{f}</a>' for f, h, _ in found)
                    self.answer("text/html", "".join(links).encode())
            else:
                index.asked.append(name)
                self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

        def answer(self, kind: str, content: bytes, *, whole: bool = True) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content if whole else content[: len(content) // 2])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        index = PackageIndex(f"http://127.0.0.1:{server.server_address[1]}/simple")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield index
        server.shutdown()
        thread.join()
