"""The worker container's system-call filter: it refuses what Docker's own refuses, less what bubblewrap needs."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import missing
from workers.sandbox import seccomp

ROOT = Path(__file__).parents[2]
PROFILE = ROOT / "deploy" / "seccomp-worker.json"
RULES = json.loads(PROFILE.read_text(encoding="utf-8"))["syscalls"]
TABLE = Path(__file__).with_name("syscalls_x86_64.txt")
NUMBERS = {
    name: int(number)
    for number, name in (line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#"))
}
NEEDED = {"clone", "unshare", "mount", "umount2", "pivot_root", "sethostname"}
"""What bubblewrap calls, and a container without CAP_SYS_ADMIN may not by Docker's defaults."""

_REFUSED = """
    acct add_key bpf chroot clock_settime create_module delete_module fanotify_init finit_module fsconfig fsmount fsopen
    fspick get_kernel_syms get_mempolicy init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie
    mbind mount_setattr move_mount move_pages nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd
    process_madvise process_vm_readv process_vm_writev ptrace query_module quotactl quotactl_fd reboot request_key
    set_mempolicy setdomainname setns settimeofday swapoff swapon sysfs syslog _sysctl uselib userfaultfd ustat vhangup
"""
REFUSED = set(_REFUSED.split())
ABSENT = {"clone3", "io_uring_enter", "io_uring_register", "io_uring_setup"}


def named(action: str, *, conditional: bool) -> set[str]:
    return {
        name for rule in RULES if rule["action"] == action and ("args" in rule) is conditional for name in rule["names"]
    }


def test_what_is_not_named_is_refused() -> None:
    """An allow-list, for native calls alone: the 32-bit tables of both processors are not among its architectures."""
    profile = json.loads(PROFILE.read_text(encoding="utf-8"))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert [arch["architecture"] for arch in profile["archMap"]] == ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"]
    assert all(arch["subArchitectures"] == [] for arch in profile["archMap"])


def test_the_profile_is_held_to_the_lists() -> None:
    """Each call of the kernel is allowed, needed by bubblewrap for a stated reason, refused, or seems absent."""
    allowed = named("SCMP_ACT_ALLOW", conditional=False)
    assert allowed <= set(NUMBERS)
    assert allowed & REFUSED == set()
    assert allowed & ABSENT == set()
    assert allowed >= NEEDED
    reasons = {name: rule.get("comment", "") for rule in RULES for name in rule["names"]}
    assert all(reasons[name].startswith("bubblewrap") for name in NEEDED)
    assert {name for name, why in reasons.items() if why.startswith("bubblewrap")} == NEEDED
    assert named("SCMP_ACT_ALLOW", conditional=True) == {"socket", "personality"}
    assert named("SCMP_ACT_ERRNO", conditional=False) == ABSENT
    assert len(NUMBERS) - len(allowed) >= 70


def filter_of(rules: Iterable[dict[str, object]]) -> bytes:
    """The profile as the kernel takes it, without its conditions on arguments: those only refuse more."""

    def line(code: int, if_true: int, if_false: int, value: int) -> bytes:
        return struct.pack("<HBBI", code, if_true, if_false, value)

    program = [line(seccomp.LOAD_WORD, 0, 0, seccomp.NUMBER_OFFSET)]
    for rule in rules:
        answer = seccomp.ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else seccomp.ERRNO | int(str(rule["errnoRet"]))
        for name in rule["names"]:  # type: ignore[attr-defined]
            program += [line(seccomp.JUMP_EQUAL, 0, 1, NUMBERS[name]), line(seccomp.RETURN, 0, 0, answer)]
    return b"".join([*program, line(seccomp.RETURN, 0, 0, seccomp.ERRNO | 1)])


UNDER_IT = """
import ctypes, os, sys
raw = sys.stdin.buffer.read()
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(raw) // 8, raw))) == 0, os.strerror(ctypes.get_errno())
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.tiers import problems
print(*problems(Bubblewrap()), sep="|")
"""


def problems_under(rules: Iterable[dict[str, object]]) -> str:
    done = subprocess.run([sys.executable, "-c", UNDER_IT], cwd=ROOT, input=filter_of(rules), stdout=subprocess.PIPE)
    done.check_returncode()
    return done.stdout.decode().strip()


@pytest.mark.extended
@pytest.mark.sandbox
def test_bubblewrap_runs_under_it_and_needs_all_of_it() -> None:
    """The kernel applies the profile to a process that builds a sandbox: it works, and not with one group less."""
    if problems_under([{"action": "SCMP_ACT_ALLOW", "names": list(NUMBERS)}]):
        missing("a sandbox, which this machine has not")
    assert problems_under(RULES) == ""
    for group in ({"clone"}, {"mount"}, {"umount2"}, {"pivot_root"}, {"sethostname"}):
        less = [rule | {"names": [name for name in rule["names"] if name not in group]} for rule in RULES]
        assert problems_under(less) != "", group
