"""What `apprentice doctor` says of files and of the App's key."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from bot.doctor import CheckState, MachineCheck, _app, _files, _index, _model, _sandbox
from tests.package_index import package_index
from workers.environments import uv_command
from workers.settings import MintSettings, WorkerSettings

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@pytest.fixture
def settings(tmp_path: Path) -> MintSettings:
    """With a home, a key and a settings file that are private."""
    files = tmp_path / "app"
    for folder in (tmp_path / "home", files):
        folder.mkdir(mode=0o700)
    for name in ("private-key.pem", "web.env"):
        (files / name).touch(mode=0o600)
    return MintSettings(home=tmp_path / "home", app_id=7, private_key_file=files / "private-key.pem")


def pem(key: Key, locked: KeySerializationEncryption) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)


def named(checks: list[MachineCheck]) -> dict[str, MachineCheck]:
    return {check.name.partition(" in ")[0]: check for check in checks}


def test_private_files(settings: MintSettings) -> None:
    """Home, key and settings are looked at, and found private."""
    checks = named(list(_files(settings)))
    assert {name: check.state for name, check in checks.items()} == dict.fromkeys(
        ("home", "private key", "settings"), CheckState.OK
    )


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610])
@pytest.mark.parametrize("name", ["home", "app/private-key.pem", "app/web.env"])
def test_exposed_files(name: str, mode: int, settings: MintSettings) -> None:
    """Whatever others may do with one of them, doctor names the command that ends it."""
    path = settings.home.parent / name
    path.chmod(mode | 0o100 if path.is_dir() else mode)
    (found,) = [check for check in _files(settings) if check.state is CheckState.MISSING]
    assert found.detail == f"other users may read or change {path}: chmod {'700' if path.is_dir() else '600'} {path}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_reads_the_files_of_the_service(settings: MintSettings) -> None:
    """Root may look after an installation that belongs to another user."""
    os.chown(settings.home, 1234, 1234)
    assert {check.state for check in _files(settings)} == {CheckState.OK}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_key_in_a_closed_directory(settings: MintSettings) -> None:
    """Doctor says that it may not look there, and goes on."""
    before = [check.detail for check in _app(settings)]  # loads what this user may read
    os.seteuid(4321)
    try:
        checks, after = named(list(_files(settings))), [check.detail for check in _app(settings)]
    finally:
        os.seteuid(0)
    assert checks["private key"].state is CheckState.MISSING
    assert checks["private key"].detail == (
        f"{settings.private_key_file} is in a directory that user 4321 may not enter: run doctor as its owner"
    )
    assert len(after) == 1
    assert after != before


def test_a_model_that_cannot_be_asked(tmp_path: Path) -> None:
    """Its address is named as the problem, without what is secret in it."""
    address = "http://u:hunter2h@127.0.0.1:9/v1?key=abc"
    found = _model(WorkerSettings(home=tmp_path, model_base_url=address, model="m"))
    assert found.state is CheckState.OPTIONAL
    assert found.detail.partition(": only")[0] == "http://127.0.0.1:9/v1 could not be reached (ConnectError)"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: b"", "is no private key in PEM"),
        (lambda: b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", "is no private key in PEM"),
        (lambda: pem(ec.generate_private_key(ec.SECP256R1()), NoEncryption()), "is no RSA key"),
        (lambda: pem(rsa.generate_private_key(65537, 1024), NoEncryption()), "has only 1024 bits"),
        (
            lambda: pem(rsa.generate_private_key(65537, 1024), BestAvailableEncryption(b"x")),
            "is locked with a passphrase",
        ),
    ],
)
def test_a_key_that_is_none(make: Callable[[], bytes], problem: str, settings: MintSettings) -> None:
    """What is wrong with the key, and where to get another."""
    assert settings.private_key_file is not None
    settings.private_key_file.write_bytes(make())
    (check,) = _app(settings)
    assert check.state is CheckState.MISSING
    assert (
        check.detail
        == f"the private key {settings.private_key_file} {problem}; generate a key on the App's page and download it"
    )


def test_an_index_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor resolves a package by the index, as the making of an environment does."""
    with package_index() as index:
        index.add_wheel("pytest", "1.0")
        monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)
        uv_command.indexes.cache_clear()
        found = _index()
    uv_command.indexes.cache_clear()
    assert found == MachineCheck(
        name="packages", state=CheckState.OK, detail=f"{uv_command.program()}, with the index 127.0.0.1"
    )
    assert "pytest" in index.asked


def test_no_room_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor goes on to say what is missing where a check cannot write its files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    (sandbox,) = _sandbox(WorkerSettings(home=tmp_path))
    assert sandbox.state is CheckState.MISSING
    assert sandbox.detail == "the self-test of the sandbox could not run: No such file or directory"
    assert _index().state is CheckState.OPTIONAL
