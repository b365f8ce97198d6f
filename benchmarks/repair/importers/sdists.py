"""Source distributions of real packages with suites, pinned by version and digest, fetched when they are asked for."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.repair.cases import BadCase

CACHE = Path(".cache/sdists")
NOT_NEEDED = shutil.ignore_patterns("*.egg-info", "docs", "doc", "examples", "changelog.d", "uv.lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """`tests` are what its test command is given: paths, and options where its own ask for plugins we do not have."""

    name: str
    version: str
    sha256: str
    tests: str

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return CACHE / f"{self.name}-{self.version}.tar.gz"

    @property
    def test_command(self) -> str:
        """How its suite is run."""
        return f"python -m pytest -q {self.tests}"


OWN_OPTIONS_OFF = "-o addopts="

PACKAGES = (
    Package(
        name="addict",
        version="2.4.0",
        sha256="b3b2210e0e067a281f5646c8c5db92e99b7231ea8b0eb5f74dbdf9e259d4e494",
        tests="test_addict.py",
    ),
    Package(
        name="cachetools",
        version="5.5.0",
        sha256="2cc24fb4cbe39633fb7badd9db9ca6295d766d9c2995f245725a46715d050f2a",
        tests="tests",
    ),
    Package(
        name="inflection",
        version="0.5.1",
        sha256="1a29730d366e996aaacffb2f1f1cb9593dc38e2ddd30c91250c6dde09ea9b417",
        tests="test_inflection.py",
    ),
    Package(
        name="more-itertools",
        version="10.5.0",
        sha256="5482bfef7849c25dc3c6dd53a6173ae4795da2a41a80faea6700d9f5846c5da6",
        tests="tests",
    ),
    Package(
        name="parse",
        version="1.20.2",
        sha256="b41d604d16503c79d81af5165155c0b20f6c8d6c559efa66b4b695c3e5a0a0ce",
        tests="tests",
    ),
    Package(
        name="portion",
        version="2.5.0",
        sha256="80ae7bab71f4844e3eb33c57954d76a3bd4cb351039b6e260e779325aeb4a487",
        tests="tests",
    ),
    Package(
        name="pyflakes",
        version="3.2.0",
        sha256="1c61603ff154621fb2a9172037d84dca3500def8c8b630657d1701f026f8af3f",
        tests="pyflakes/test",
    ),
    Package(
        name="rfc3986",
        version="2.0.0",
        sha256="97aacf9dbd4bfd829baad6e6309fa6573aaf1be3f6fa735c8ab05e46cecb261c",
        tests="tests",
    ),
    Package(
        name="schema",
        version="0.7.7",
        sha256="7da553abd2958a19dc2547c388cde53398b39196175a9be59ea1caf5ab0a1807",
        tests="test_schema.py",
    ),
    Package(
        name="semver",
        version="3.0.4",
        sha256="afc7d8c584a5ed0a11033af086e8af226a9c0b206f313e0301f8dd7b6b589602",
        tests=f"{OWN_OPTIONS_OFF} tests",
    ),
    Package(
        name="simpleeval",
        version="1.0.3",
        sha256="67bbf246040ac3b57c29cf048657b9cf31d4e7b9d6659684daa08ca8f1e45829",
        tests="test_simpleeval.py",
    ),
    Package(
        name="sqlparse",
        version="0.5.1",
        sha256="bb6b4df465655ef332548e24f08e205afc81b9ab86cb1c45657a7ff173a3a00e",
        tests="tests",
    ),
    Package(
        name="toolz",
        version="1.0.0",
        sha256="2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02",
        tests="toolz",
    ),
    Package(
        name="treelib",
        version="1.7.0",
        sha256="9bff1af416b9e642a6cd0e0431d15edf26a24b8d0c8ae68afbd3801b5e30fb61",
        tests="tests",
    ),
    Package(
        name="unidiff",
        version="0.7.5",
        sha256="2e5f0162052248946b9f0970a40e9e124236bf86c82b70821143a6fc1dea2574",
        tests="tests",
    ),
    Package(
        name="voluptuous",
        version="0.15.2",
        sha256="6ffcab32c4d3230b4d2af3a577c87e1908a714a11f6f95570456b1849b0279aa",
        tests="voluptuous/tests",
    ),
    Package(
        name="xmltodict",
        version="0.13.0",
        sha256="341595a488e3e01a85a9d8911d8912fd922ede5fecc4dce437eb4b6c8d037e56",
        tests="tests",
    ),
)


def unpacked(package: Package, at: Path) -> Path:
    """The package's own files in a directory below `at`. Raises BadCase where it cannot be had."""
    if not _is_there(package):
        _download(package)
    with tempfile.TemporaryDirectory(prefix="apprentice-sdist-") as scratch:
        subprocess.run(["tar", "--extract", "--file", package.file, "--directory", scratch], check=True)
        (root,) = Path(scratch).iterdir()
        return Path(shutil.copytree(root, at / package.name, ignore=NOT_NEEDED))


def _is_there(package: Package) -> bool:
    return package.file.is_file() and hashlib.sha256(package.file.read_bytes()).hexdigest() == package.sha256


def _download(package: Package) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "2", "--timeout", "20"]
        options = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", scratch]
        done = subprocess.run(
            [*pip, *options, "--requirement", str(wanted)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise BadCase(f"{package.name} {package.version} could not be downloaded: {reason}")
        os.replace(Path(scratch) / package.file.name, package.file)  # noqa: PTH105  the atomic one, by its usual name
