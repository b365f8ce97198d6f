"""Runs inside a sandbox at its self-test, and tries to get out. It runs on our interpreter, with the standard library alone.

`break_out.py BAIT`: the bait is JSON: a secret's path, a port and an abstract socket of the host, and a word that a process
of the host has on its command line. It writes JSON to the descriptor of the report: each attack, and why it failed, or "".
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLONE_NEWUSER, PTRACE_SEIZE, GET_NO_NEW_PRIVILEGES = 0x10000000, 0x4206, 39
GET_FLAGS = 0x8913
"""SIOCGIFFLAGS of netdevice(7)."""
libc = ctypes.CDLL(None, use_errno=True)
bait: dict[str, Any] = {}
"""Filled when this runs as a program."""


def checked(result: int) -> None:
    """Raise what a C function that failed set."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def status(field: str) -> str:
    """A field of this process's status; empty without it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next((line.split()[1] for line in lines if line.startswith(f"{field}:")), "")


def refuse_unless(condition: bool, reason: str) -> None:
    if not condition:
        raise PermissionError(reason)


def read_a_secret_of_the_host() -> None:
    Path(bait["secret"]).read_bytes()


def read_a_secret_through_the_first_process() -> None:
    Path("/proc/1/root", bait["secret"].lstrip("/")).read_bytes()


def read_the_environment_of_the_first_process() -> None:
    found = Path("/proc/1/environ").read_bytes()
    refuse_unless(bait["word"].encode() in found, "it has no secret")


def write(path: str) -> None:
    Path(path).touch()
    Path(path).unlink()


def write_to_the_system() -> None:
    write("/usr/apprentice-was-here")


def write_to_the_root() -> None:
    write("/apprentice-was-here")


def connect_to_the_host() -> None:
    socket.create_connection(("127.0.0.1", bait["port"]), 2).close()


def connect_to_a_socket_of_the_host() -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + bait["abstract"])


def connect_to_the_network() -> None:
    others = [name for _, name in socket.if_nameindex() if name != "lo" and is_up(name)]
    refuse_unless(bool(others), "there is no network")


def is_up(interface: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking, GET_FLAGS, interface.encode().ljust(32, b"\0"))
    return answer[16] & 1 == 1


def see_a_process_of_the_host() -> None:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if path.parent.name != str(os.getpid()) and bait["word"].encode() in path.read_bytes():
            return
    raise PermissionError("none is there")


def become_root() -> None:
    os.setuid(0)


def gain_a_capability() -> None:
    refuse_unless(any(int(status(each) or "0", 16) for each in ("CapEff", "CapPrm", "CapBnd")), "it has none")


def gain_rights_by_a_program() -> None:
    refuse_unless(libc.prctl(GET_NO_NEW_PRIVILEGES, 0, 0, 0, 0) != 1, "no_new_privs is set")


def make_any_system_call() -> None:
    refuse_unless(status("Seccomp") != "2", "a filter is set")


def make_a_user_namespace() -> None:
    checked(libc.unshare(CLONE_NEWUSER))


def mount_a_file_system() -> None:
    place = Path("/tmp/mounted")  # noqa: S108  inside
    place.mkdir(exist_ok=True)
    checked(libc.mount(b"none", bytes(place), b"tmpfs", 0, None))


def trace_the_first_process() -> None:
    libc.ptrace.restype = ctypes.c_long
    checked(libc.ptrace(PTRACE_SEIZE, 1, None, None))


def open_a_device_of_the_host() -> None:
    for name in ("mem", "kmsg", "sda", "vda", "kvm"):
        if Path("/dev", name).exists():
            os.close(os.open(f"/dev/{name}", os.O_RDONLY))
            return
    raise FileNotFoundError("none is there")


def reach_the_container_engine() -> None:
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"):
        if Path(path).exists():
            return
    raise FileNotFoundError("it is not there")


ATTACKS: tuple[Callable[[], None], ...] = (
    read_a_secret_of_the_host,
    read_a_secret_through_the_first_process,
    read_the_environment_of_the_first_process,
    write_to_the_system,
    write_to_the_root,
    connect_to_the_host,
    connect_to_a_socket_of_the_host,
    connect_to_the_network,
    see_a_process_of_the_host,
    become_root,
    gain_a_capability,
    gain_rights_by_a_program,
    make_any_system_call,
    make_a_user_namespace,
    mount_a_file_system,
    trace_the_first_process,
    open_a_device_of_the_host,
    reach_the_container_engine,
)


def outcome(attack: Callable[[], None]) -> str:
    try:
        attack()
    except OSError as refusal:
        return refusal.strerror or str(refusal) or type(refusal).__name__
    return ""


if __name__ == "__main__":
    bait.update(json.loads(sys.argv[1]))
    found = {attack.__name__: outcome(attack) for attack in ATTACKS}
    os.write(int(os.environ["APPRENTICE_REPORT_FD"]), json.dumps(found).encode())
