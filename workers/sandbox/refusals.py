"""Why bubblewrap would not start, and what to do about it, in one line each."""

from __future__ import annotations

from pathlib import Path

MISSING = "bubblewrap is not installed: install it (`apt install bubblewrap`, `dnf install bubblewrap`)"
TOO_OLD = "bubblewrap is too old: install version 0.6 or later"
APPARMOR_SWITCH = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
APPARMOR = (
    "AppArmor keeps bubblewrap from making user namespaces (Ubuntu 24.04 and later): install an AppArmor profile for "
    "/usr/bin/bwrap that allows `userns`, or set the sysctl kernel.apparmor_restrict_unprivileged_userns=0"
)
NAMESPACES = (
    "the kernel or the container refuses user namespaces: set the sysctls user.max_user_namespaces above 0 and, where "
    "it exists, kernel.unprivileged_userns_clone=1; in Docker use a seccomp profile that allows them"
)
PROC = (
    "the container does not let a new /proc be mounted: start it with an unmasked /proc "
    "(`--security-opt systempaths=unconfined` in Docker)"
)


def explained(said: str, apparmor_switch: Path = APPARMOR_SWITCH) -> str:
    """The line for what bubblewrap wrote when it ended."""
    words = said.strip().removeprefix("bwrap: ") or "it did not say why"
    lower = words.lower()
    if "unknown option" in lower:
        return TOO_OLD
    if "proc" in lower and "mount" in lower:
        return f"{PROC} ({words})"
    if "namespace" in lower or "uid map" in lower or "not permitted" in lower or "permission denied" in lower:
        return f"{APPARMOR if _is_on(apparmor_switch) else NAMESPACES} ({words})"
    return f"bubblewrap cannot make a sandbox here: {words}"


def _is_on(switch: Path) -> bool:
    return switch.is_file() and switch.read_text(encoding="ascii").strip() == "1"
