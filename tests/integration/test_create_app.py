"""deploy/create-app against a stand-in for the two pages of GitHub that it needs."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "create-app"
APP = {
    "id": 41,
    "slug": "apprentice-acme",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\n",
    "webhook_secret": "hush",
    "html_url": "https://github.example/apps/apprentice-acme",
}


class Conversions(BaseHTTPRequestHandler):
    """Hands out the App for the code `good`, only after an error for `late`, and without its name for `nameless`."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        code = self.path.removeprefix("/api/v3").removeprefix("/app-manifests/").removesuffix("/conversions")
        given = {"good": APP, "late": APP, "nameless": {**APP, "slug": None}}.get(code)
        away = code == "late" and code not in self.asked
        self.asked.append(code)
        body = json.dumps(given or {"message": "Not Found"}).encode()
        self.send_response(502 if away else 201 if given else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[str]:
    Conversions.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Conversions) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def registering(into: Path, api: str, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running script, and the address of its form."""
    command = [sys.executable, SCRIPT, "https://bot.example/", "--into", into, "--api", api, "--port", "0", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{20,}", process.stdout.readline())
            assert found
            yield process, found[0]
        finally:
            process.kill()


def confirm(address: str, code: str) -> None:
    """Do as GitHub does when the user confirms: send the browser back with a code."""
    state = re.search(r"state=([\w-]+)", httpx.get(address).text)
    assert state
    assert httpx.get(f"{root(address)}/created", params={"code": code, "state": state[1]}).status_code == 200


def root(address: str) -> str:
    return address.rpartition("/")[0]


def test_registers_and_keeps_what_it_is_given(tmp_path: Path, api: str) -> None:
    """The form asks for the App; GitHub's answer becomes files that only their owner reads, one for each process."""
    into = tmp_path / "app"
    with registering(into, api, "--organization", "acme", "--name", "Apprentice Acme") as (process, address):
        assert httpx.get(root(address)).status_code == 404
        page = unescape(httpx.get(address).text)
        action = re.search(r'action="([^"]+)"', page)
        assert action
        assert action[1].startswith("https://github.com/organizations/acme/settings/apps/new?state=")
        manifest = json.loads(page.partition('name="manifest" value="')[2].partition('">\n')[0])
        assert manifest["hook_attributes"] == {"url": "https://bot.example/webhook", "active": True}
        assert manifest["name"] == "Apprentice Acme"
        assert manifest["redirect_url"] == f"{root(address)}/created"
        state = urllib.parse.parse_qs(urllib.parse.urlsplit(action[1]).query)["state"][0]
        assert httpx.get(f"{root(address)}/created", params={"code": "good", "state": "guessed"}).status_code == 404
        assert httpx.get(f"{root(address)}/created", params={"code": "good", "state": state}).status_code == 200
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert said.splitlines()[-2].endswith("https://github.example/apps/apprentice-acme/installations/new")
    assert said.splitlines()[-1].endswith("@apprentice-acme help")
    kept = {path.name: path.read_text() for path in into.iterdir()}
    assert kept == {
        ".gitignore": "*\n",
        "private-key.pem": APP["pem"],
        "apprentice.env": f"APPRENTICE_BOT_NAME=apprentice-acme\nAPPRENTICE_GITHUB_URL={api}\n",
        "web.env": "APPRENTICE_WEBHOOK_SECRET=hush\n",
        "mint.env": "APPRENTICE_APP_ID=41\n",
        "worker.env": "# Settings of a model, if you use one: see docs/model.md\n",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in into.iterdir()} == {0o600}
    assert stat.S_IMODE(into.stat().st_mode) == 0o700


def test_a_code_that_github_does_not_take(tmp_path: Path, api: str) -> None:
    """One clear line, and nothing is written."""
    with registering(tmp_path / "app", api) as (process, address):
        assert (tmp_path / "app").exists()
        confirm(address, "bad")
        _, said = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "delete it on GitHub and start again" in said
    assert not (tmp_path / "app").exists()


def test_github_that_fails_once(tmp_path: Path, api: str) -> None:
    """A code is good for an hour, so an error of GitHub costs a second try and not the App."""
    with registering(tmp_path / "app", api) as (process, address):
        confirm(address, "late")
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert "502" in said.splitlines()[0]
    assert (tmp_path / "app" / "private-key.pem").read_text() == APP["pem"]


@pytest.mark.parametrize(("code", "line"), [("good", "No such file or directory"), ("nameless", "lacks slug")])
def test_what_cannot_be_kept_is_printed(code: str, line: str, tmp_path: Path, api: str) -> None:
    """Where the directory went away meanwhile, or the answer is not whole, the key is not lost with it."""
    with registering(tmp_path / "app", api) as (process, address):
        if code == "good":
            shutil.rmtree(tmp_path / "app")
        confirm(address, code)
        said, wrong = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "pem: -----BEGIN RSA PRIVATE KEY-----\n" in said
    assert "webhook_secret: hush\n" in said
    assert line in wrong
    assert wrong.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_says_what_it_waits_for_and_ends_when_asked(number: signal.Signals, tmp_path: Path, api: str) -> None:
    """It names its address again; where it is ended it leaves one line, and no directory."""
    with registering(tmp_path / "app", api, "--remind", "0.01") as (process, address):
        assert process.stdout is not None
        reminder = process.stdout.readline()
        process.send_signal(number)
        _, wrong = process.communicate(timeout=600)
    assert address in reminder
    assert "Ctrl-C" in reminder
    assert process.returncode == 1
    assert wrong.count("\n") == 1
    assert not (tmp_path / "app").exists()


def test_a_connection_that_says_nothing(tmp_path: Path, api: str) -> None:
    """A connection that a browser opens in advance holds up none of its requests."""
    with registering(tmp_path / "app", api) as (_, address):
        url = httpx.URL(address)
        with socket.create_connection((url.host, url.port or 0)):
            assert httpx.get(address).status_code == 200


def test_a_server_of_your_own(tmp_path: Path, api: str) -> None:
    """The REST API of a GitHub Enterprise Server is found below its address."""
    with registering(tmp_path / "app", "", "--github", f"{api}/") as (process, address):
        confirm(address, "good")
        process.communicate(timeout=600)
    assert process.returncode == 0
    assert f"APPRENTICE_GITHUB_URL={api}/api/v3\n" in (tmp_path / "app" / "apprentice.env").read_text()


@pytest.mark.parametrize("more", [["--port", "taken"], ["--port", "99999"], ["--into", "file/app"], ["--into", "full"]])
def test_needs_a_port_and_a_directory(more: list[str], tmp_path: Path) -> None:
    """What it cannot do without is named in one line, before GitHub is asked for anything."""
    (tmp_path / "file").touch()
    limit = ["prlimit", "--fsize=100"] if "full" in more else []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        more = [str(taken.getsockname()[1]) if each == "taken" else each for each in more]
        command = [*limit, sys.executable, str(SCRIPT), "https://bot.example", "--into", "app", *more]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert more[0] in done.stderr
    assert done.stderr.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("url", "line"), [("http://bot.example", "must begin with https://"), ("https://bot.example", "exists")]
)
def test_refuses(url: str, line: str, tmp_path: Path) -> None:
    """No webhooks in the clear, and no key that is overwritten."""
    done = subprocess.run(
        [sys.executable, SCRIPT, url, "--into", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
