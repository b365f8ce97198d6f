"""The first process of a User Mode Linux, which has control groups of version 2 wherever it runs. The host's files are its own.

It delegates a group as systemd does, runs hostile/runs.py below it for a user, and prints the answers after RESULT:
    boot.py UID REPOSITORY NAME,…      all attacks, and these bombs, with `_` for blanks
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

HALT = 0x4321FEDC
MOUNTS = (
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("hostfs", "/dev/shm", "/dev/shm"),
    ("devpts", "/dev/pts", ""),
    ("tmpfs", "/run", "mode=1777"),
    ("cgroup2", "/sys/fs/cgroup", ""),
)
HERE = Path(__file__).parent
USED = "from workers.sandbox.control_groups import delegated_group; print('\"%s\"' % delegated_group())"


def delegate(user: int) -> Path:
    """A group as systemd delegates it to a service of a user."""
    group = Path("/sys/fs/cgroup", f"service-{user}")
    group.mkdir()
    os.setxattr(group, "user.delegate", b"1")
    for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control"):
        os.chown(path, user, user)
    return group


def answer(user: int, group: Path, *arguments: str) -> object:
    """What a program of a user prints; the first one divides the group, the others start where it moved itself."""
    place = group / "apprentice" if (group / "apprentice").exists() else group

    def enter() -> None:
        (place / "cgroup.procs").write_text("0")
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)

    environment = {"PYTHONPATH": str(HERE.parents[2]), "PATH": "/usr/bin:/bin", "TMPDIR": "/run/tmp", "DEPLOY_KEY": "x"}
    done = subprocess.run(
        [sys.executable, "-B", *arguments], env=environment, stdout=subprocess.PIPE, preexec_fn=enter, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    for kind, path, options in MOUNTS:
        Path(path).mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", kind, *(["-o", options] if options else []), kind, path], check=True)
    Path("/run/tmp").mkdir()
    Path("/run/tmp").chmod(0o1777)
    Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory +pids")
    user, repository, names = int(sys.argv[1]), sys.argv[2], sys.argv[3].replace("_", " ").split(",")
    group, runs = delegate(user), str(HERE / "runs.py")
    found = {"used": answer(user, group, "-c", USED), "attacks": answer(user, group, runs, "attacks", repository)}
    found["bombs"] = {name: answer(user, group, runs, "bomb", name) for name in names}
    found["left"] = [path.name for path in group.glob("run-*")]
    print("RESULT", json.dumps(found), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001 - the machine's last words
        traceback.print_exc()
    finally:
        ctypes.CDLL(None).reboot(HALT)
