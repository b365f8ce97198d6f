"""deploy/create-app against a stand-in for the two pages of GitHub that it needs."""

from __future__ import annotations

import json
import re
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
    """Hands out the App for the code `good`."""

    def do_POST(self) -> None:
        good = self.path == "/app-manifests/good/conversions"
        body = json.dumps(APP if good else {"message": "Not Found"}).encode()
        self.send_response(201 if good else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[str]:
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
        said, _ = process.communicate(timeout=60)
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
        state = re.search(r"state=([\w-]+)", httpx.get(address).text)
        assert state
        httpx.get(f"{root(address)}/created", params={"code": "bad", "state": state[1]})
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "delete it on GitHub and start again" in said
    assert not (tmp_path / "app").exists()


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
