"""The environments that a person would try first: `pip install -e .`, and what `pipreqs` says of the imports.

Both run the build steps of what they install, with the network, as pip always does; here they see the system, their
interpreter and a directory of their own, and none of this process's environment but how pip is configured.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.environments.checkouts import NotBuilt
from benchmarks.environments.suites import one_line
from workers.sandbox.project import DEFAULT_COMMAND, Project

BUILD_SECONDS = 600
SHOWN = ("/usr", "/etc", "/opt")
LINKED = ("/bin", "/lib", "/lib64", "/sbin")


def pip_install(checkout: Path, scratch: Path) -> Project:
    """A fresh virtual environment with pytest and, where that succeeds, the project, editable. Raises NotBuilt."""
    python = _environment(scratch, ("pytest",))
    with suppress(NotBuilt):
        _install(python, ("-e", str(checkout)))
    return _project(checkout, python)


def pipreqs_install(checkout: Path, scratch: Path, names: Mapping[str, str]) -> Project:
    """A fresh virtual environment with what `pipreqs` says that the checkout imports, and pytest. Raises NotBuilt.

    Pipreqs asks the index for each name that is imported; here the answer comes from `names`, distributions to versions.
    """
    tool = scratch.parent / "pipreqs"
    if not (tool / "environment" / "bin" / "pipreqs").exists():
        _environment(tool, ("pipreqs",))
    listed = scratch / "requirements.txt"
    with _index(names) as index:
        asked = ("--mode", "no-pin", "--pypi-server", index, "--savepath", str(listed), str(checkout))
        _run((str(tool / "environment" / "bin" / "pipreqs"), "--force", *asked), scratch.parent)
    return _project(checkout, _environment(scratch, ("pytest", "-r", str(listed))))


def _environment(scratch: Path, wanted: Sequence[str]) -> Path:
    """The interpreter of a virtual environment of ours with the wanted requirements. Raises NotBuilt."""
    python = scratch / "environment" / "bin" / "python"
    _run((sys.executable, "-m", "venv", "--without-pip", str(python.parents[1])), scratch.parent)
    _install(python, wanted)
    return python


def _install(python: Path, wanted: Sequence[str]) -> None:
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile")
    _run((*pip, *wanted), python.parents[3])


def _project(checkout: Path, python: Path) -> Project:
    roots = ("src", ".") if (checkout / "src").is_dir() else (".",)
    command = DEFAULT_COMMAND
    return Project(tree=checkout, python=python, test_command=command, source_roots=roots, read_only=(checkout,))


def _run(command: Sequence[str], writable: Path) -> None:
    """Run a command that may read the system and write below `writable`. Raises NotBuilt with the last of its errors."""
    try:
        done = subprocess.run(
            (*_box(writable), *command),
            env=_variables(writable),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"{Path(command[0]).name} needed longer than {BUILD_SECONDS} s") from None
    if done.returncode:
        raise NotBuilt(_reason(done.stderr or done.stdout) or f"exit code {done.returncode}")


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _NAMED_ERROR.match(line) and "subprocess-exited" not in line]
    return one_line((errors or lines or [""])[-1])


def _box(writable: Path) -> list[str]:
    prefix = str(Path(sys.base_prefix).resolve())
    own = str(Path(sys.prefix).resolve())
    reads = [word for each in (*SHOWN, prefix, own) for word in ("--ro-bind-try", each, each)]
    links = [word for each in LINKED if Path(each).is_symlink() for word in ("--symlink", f"usr{each}", each)]
    kept = ("--bind", str(writable), str(writable), "--chdir", str(writable))
    return ["bwrap", "--unshare-pid", "--die-with-parent", *("--tmpfs", "/tmp"), *reads, *links, *_PSEUDO, *kept]


_NAMED_ERROR = re.compile(r"(ERROR|error|\w+Error)\b")
_PSEUDO = ("--proc", "/proc", "--dev", "/dev")


def _variables(home: Path) -> dict[str, str]:
    """The environment: how pip is configured, and nothing else of ours."""
    pips = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {**pips, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


@contextmanager
def _index(names: Mapping[str, str]) -> Iterator[str]:
    """The address of a server on this machine that answers for these names as the index does for pipreqs."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").removesuffix("/json").rpartition("/")[2]
            version = names.get(name.lower())
            self.send_response(404 if version is None else 200)
            self.end_headers()
            if version is not None:
                info = {"name": name, "version": version, "package_url": f"https://pypi.org/project/{name}/"}
                self.wfile.write(json.dumps({"info": info, "releases": {}}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
