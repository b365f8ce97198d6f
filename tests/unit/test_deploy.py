"""What stands in deploy/ agrees with the code that it deploys."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.cli.console import BAD_INPUT
from bot.web.events import KNOWN, SENT_UNASKED
from bot.web.metrics import Metrics
from workers.github.auth import PERMISSIONS
from workers.settings import PREFIX, MintSettings, SweeperSettings, WebSettings, WorkerSettings, known_variables

DEPLOY = Path(__file__).parents[2] / "deploy"
ROOT = DEPLOY.parent
PROCESSES = {"web": WebSettings, "worker": WorkerSettings, "sweeper": SweeperSettings, "mint": MintSettings}


@pytest.fixture(scope="module")
def compose() -> Mapping[str, Any]:
    """compose.yaml, with its anchors resolved."""
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def manifest() -> Mapping[str, Any]:
    return dict(json.loads((DEPLOY / "app-manifest.json").read_text(encoding="utf-8")))


# ── The App ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_manifest_permissions(manifest: Mapping[str, Any]) -> None:
    """The App is given exactly the permissions that tokens are minted with."""
    assert manifest["default_permissions"] == PERMISSIONS


def test_manifest_events(manifest: Mapping[str, Any]) -> None:
    """The App subscribes to exactly the events that are read, less those that GitHub sends unasked."""
    assert set(manifest["default_events"]) == KNOWN - SENT_UNASKED
    assert len(manifest["default_events"]) == len(set(manifest["default_events"]))


def test_manifest_is_private_with_an_active_webhook(manifest: Mapping[str, Any]) -> None:
    """Nobody else can install the App, and its webhook is on, at the path that the web process serves."""
    assert manifest["public"] is False
    assert manifest["hook_attributes"]["active"] is True
    assert manifest["hook_attributes"]["url"] == f"{manifest['url']}/webhook"


# ── Containers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def known_to(service: Mapping[str, Any]) -> str:
    """Everything that a service is told of settings, as text."""
    return json.dumps([service.get("environment"), service.get("env_file"), service.get("secrets")])


def test_compose_splits_the_secrets(compose: Mapping[str, Any]) -> None:
    """The web process alone gets the webhook secret, the minting process alone the App's key and no database."""
    services = compose["services"]
    for file, holder in {"web.env": "web", "worker.env": "worker", "mint.env": "mint", "private-key": "mint"}.items():
        assert [name for name in PROCESSES if file in known_to(services[name])] == [holder]
    assert [name for name, service in services.items() if "secrets" in service] == ["mint"]
    assert [name for name in PROCESSES if "DATABASE_URL" not in known_to(services[name])] == ["mint"]
    assert services["mint"]["networks"] == ["outside"]


def test_compose_runs_each_process_as_its_own_user(compose: Mapping[str, Any]) -> None:
    """One that is taken over owns nothing of another's; the worker's group opens the minting process's socket."""
    services = compose["services"]
    users = {name: services[name]["user"] for name in PROCESSES}
    assert len(set(users.values())) == len(PROCESSES)
    assert not any(user.startswith("0") for user in users.values())
    made = re.search(r"for process in (.*); do", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    assert made is not None
    assert dict(pair.split(":") for pair in made[1].split()) == {name: u.split(":")[0] for name, u in users.items()}
    assert services["worker"]["group_add"] == [users["mint"].split(":")[1]]
    assert services["mint"]["environment"]["APPRENTICE_MINT_PEER"] == users["worker"].split(":")[0]
    sockets = {services[name]["environment"]["APPRENTICE_MINT_SOCKET"] for name in ("worker", "mint")}
    assert sockets == {"/run/apprentice-mint/mint.sock"}
    assert all("mint:/run/apprentice-mint" in services[name]["volumes"] for name in ("worker", "mint"))


def test_compose_takes_images_by_digest(compose: Mapping[str, Any]) -> None:
    """Each image that is not built here can be named by digest, and `deploy/pin-images` names all of them."""
    pinned = set(re.findall(r"\b([A-Z]+_IMAGE)=(\S+?)[; ]", (DEPLOY / "pin-images").read_text(encoding="utf-8")))
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{([A-Z]+_IMAGE):-([^}]+)\}", text)) == pinned
    assert {name for name, _ in pinned} == {"PYTHON_IMAGE", "POSTGRES_IMAGE", "REDIS_IMAGE"}
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM (\S+) AS", dockerfile, re.MULTILINE)[0] == "${PYTHON_IMAGE}"
    assert dict(pinned)["PYTHON_IMAGE"] == re.findall(r"^ARG PYTHON_IMAGE=(\S+)", dockerfile, re.MULTILINE)[0]


@pytest.mark.parametrize("name", PROCESSES)
def test_compose_sets_what_exists(name: str, compose: Mapping[str, Any]) -> None:
    """Every variable that a container gets is a setting of its process: others are refused at the start."""
    given = {key for key in compose["services"][name]["environment"] if key.startswith(PREFIX)}
    assert given
    assert given <= {PREFIX + field.upper() for field in PROCESSES[name].model_fields}


@pytest.mark.parametrize("name", PROCESSES)
def test_compose_confines(name: str, compose: Mapping[str, Any]) -> None:
    """Our containers have no capabilities and a read-only root; only the worker's confinement is loosened."""
    service = compose["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    loosened = {option for option in service["security_opt"] if "unconfined" in option}
    needed = {"apparmor=unconfined", "systempaths=unconfined"}
    assert loosened == (needed if name == "worker" else set())
    profiles = {option for option in service["security_opt"] if option.startswith("seccomp=")}
    assert profiles == ({"seccomp=seccomp-worker.json"} if name == "worker" else set())


def test_compose_publishes_one_port_on_loopback(compose: Mapping[str, Any]) -> None:
    """Database and broker are reached from inside alone, the web process from the host alone."""
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8321:8321"]}
    assert compose["networks"]["inside"]["internal"] is True
    for name in ("postgres", "redis"):
        assert compose["services"][name]["networks"] == ["inside"]


def test_compose_names_stages_that_exist(compose: Mapping[str, Any]) -> None:
    """Each image is a stage of the one Dockerfile, and those that run are not root."""
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    stages = dict(re.findall(r"^FROM \S+ AS (\S+)\n((?:(?!^FROM ).*\n)*)", dockerfile, re.MULTILINE))
    targets = {s["build"]["target"] for s in compose["services"].values() if "build" in s}
    assert targets == {"web", "worker"}
    assert "USER 10001:10001" in stages["web"]
    assert "USER 10002:10002" in stages["worker"]
    assert "bubblewrap" in stages["worker"]
    assert "bubblewrap" not in stages["web"]


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.cli"])
def test_dockerfile_copies_what_exists(name: str) -> None:
    """Every path that is copied from the repository is there, and let through by the ignore file."""
    dockerfile = (DEPLOY / name).read_text(encoding="utf-8")
    through = set(re.findall(r"^!(\S+)$", (DEPLOY / f"{name}.dockerignore").read_text(), re.MULTILINE))
    copied = {
        word for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE) for word in line.split()[:-1]
    }
    assert copied == through
    assert all((ROOT / path).exists() for path in copied)


def test_the_image_of_the_command_line_is_confined() -> None:
    """It runs as an ordinary user, with what a sandbox needs and no extra of the package."""
    dockerfile = (DEPLOY / "Dockerfile.cli").read_text(encoding="utf-8")
    last = dockerfile.rpartition("\nFROM ")[2]
    assert "bubblewrap" in last
    assert "USER 10005:10005" in last
    assert last.index("USER") < last.index("ENTRYPOINT")
    assert not re.search(r"torch==|/src\[(?!types\])", dockerfile)


WEB_ALONE = """
import importlib.metadata, re, sys
from pathlib import Path

def name(text):
    return re.sub(r"[-_.]+", "-", re.match(r"[\\w.-]+", text)[0]).lower()

def extras(text):
    found = re.match(r"[\\w.-]+\\[([^\\]]*)\\]", text)
    return set(found[1].split(",")) if found else set()

def needs(text, seen):
    if (name(text), *extras(text)) in seen:
        return
    seen.add((name(text), *extras(text)))
    try:
        requires = importlib.metadata.requires(name(text)) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for line in requires:
        wanted, _, condition = line.partition(";")
        chosen = re.findall(r"extra == ['\\"]([^'\\"]+)", condition)
        if not chosen or set(chosen) & extras(text):
            needs(wanted.strip(), seen)

seen = set()
for line in Path(sys.argv[1]).read_text().splitlines():
    if line and not line.startswith("#"):
        needs(line, seen)
allowed = {found[0] for found in seen}
of = importlib.metadata.packages_distributions()

class Guard:
    def find_spec(self, module, path=None, target=None):
        owners = {name(each) for each in of.get(module, ())}
        if "." not in module and owners and not owners & (allowed | {"apprentice"}):
            raise ModuleNotFoundError(f"{module} is not among the web process' requirements")

sys.meta_path.insert(0, Guard())
from datetime import UTC, datetime
import bot.cli.main
from bot.web.app import create_app
from memory.store import open_store
from workers.queue.broker import make_celery
from workers.settings import WebSettings
import bot.cli.jobs, bot.web.app, memory.store.backup, workers.queue.sweeper, uvicorn, psycopg, redis

settings = WebSettings(home=Path(sys.argv[2]), webhook_secret="s")
make_celery(settings)
with open_store(settings.database()) as store:
    create_app(settings, store, lambda ids: None, lambda: datetime.now(UTC), [])
print("served by", len(allowed))
"""


@pytest.mark.slow
def test_web_requirements_suffice(tmp_path: Path) -> None:
    """The web process and the sweeper start with what is in the web image, without torch and the rest."""
    listed = DEPLOY / "web-requirements.txt"
    done = subprocess.run(
        [sys.executable, "-c", WEB_ALONE, str(listed), str(tmp_path)],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("served by ")
    wanted = {line for line in listed.read_text().splitlines() if line and not line.startswith("#")}
    assert not any(line.startswith(("torch", "sentence", "pygithub")) for line in wanted)


# ── systemd ────────────────────────────────────────────────────────────────────────────────────────────────────────


def unit(name: str) -> dict[str, list[str]]:
    """The directives of a unit and its drop-ins, as systemd merges them; an empty value takes back what was before."""
    units, found = DEPLOY / "systemd", dict[str, list[str]]()
    drops = [*units.glob("apprentice-.service.d/*.conf"), *units.glob(f"apprentice-{name}.service.d/*.conf")]
    for path in (units / f"apprentice-{name}.service", *sorted(drops, key=lambda each: each.name)):
        for line in path.read_text(encoding="utf-8").splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                found[key] = [*found.get(key, []), value] if value else [""]
    return found


COMMANDS = {"web": "serve", "worker": "worker", "sweeper": "sweep", "mint": "mint"}


@pytest.mark.parametrize(("name", "command"), COMMANDS.items())
def test_units_run_commands_that_exist(name: str, command: str) -> None:
    """Each unit runs its process, as an ordinary user of its own without a way up."""
    directives = unit(name)
    assert directives["ExecStart"] == [f"/opt/apprentice/.venv/bin/apprentice {command}"]
    assert directives["User"] == directives["Group"] == [f"apprentice-{name}"]
    assert directives["StateDirectory"] == ["%N"]
    assert directives["NoNewPrivileges"] == ["yes"]
    assert directives["CapabilityBoundingSet"] == [""]
    assert directives["WantedBy"] == ["multi-user.target"]
    set_here = re.findall(rf"({PREFIX}[A-Z_]+)=", " ".join(directives["Environment"]))
    assert {each.removeprefix(PREFIX).lower() for each in set_here} <= set(PROCESSES[name].model_fields)


def test_units_wait_for_their_servers() -> None:
    """Each starts after the servers on its machine, is started again whatever is temporary, and is not for a wrong setting."""
    for name in PROCESSES:
        after = set(" ".join(unit(name)["After"]).split())
        assert {"network-online.target", "postgresql.service", "redis-server.service", "redis.service"} <= after
        assert (unit(name)["Restart"], unit(name)["StartLimitIntervalSec"]) == (["always"], ["0"])
        assert unit(name)["RestartPreventExitStatus"] == [str(BAD_INPUT)]
    assert "apprentice-mint.service" in " ".join(unit("worker")["After"])


def test_units_split_the_secrets() -> None:
    """As the containers do; the socket of the minting process is for the worker, by its group."""
    files = {name: {Path(path.lstrip("-")).name for path in unit(name)["EnvironmentFile"]} for name in PROCESSES}
    own = {"web": {"web.env"}, "worker": {"worker.env"}, "sweeper": set[str](), "mint": {"mint.env"}}
    assert files == {name: {"apprentice.env", *own[name]} for name in PROCESSES}
    assert [name for name in PROCESSES if "LoadCredential" in unit(name)] == ["mint"]
    assert [name for name in PROCESSES if "SupplementaryGroups" in unit(name)] == ["worker"]
    assert unit("worker")["SupplementaryGroups"] == unit("mint")["Group"] == ["apprentice-mint"]
    assert unit("mint")["RuntimeDirectoryMode"] == ["0750"]
    assert "APPRENTICE_MINT_PEER=apprentice-worker" in " ".join(unit("mint")["Environment"])
    hidden = {name for name in PROCESSES if "-/run/credentials" in " ".join(unit(name)["InaccessiblePaths"])}
    assert hidden == {"web", "worker", "sweeper"}


def test_the_worker_may_build_sandboxes() -> None:
    """Nothing that was seen to keep bubblewrap from starting is in force for the worker; the others have it all."""
    off = {
        "RestrictNamespaces": "no",
        "SystemCallFilter": "~@clock @cpu-emulation @debug @keyring @module @obsolete @raw-io @reboot @swap",
        "ProtectHostname": "no",
        "ProtectKernelTunables": "no",
        "ProtectKernelLogs": "no",
        "ProtectProc": "default",
        "ProcSubset": "all",
        "MemoryDenyWriteExecute": "no",
    }
    assert {key: unit("worker")[key][-1] for key in off} == off
    for name in ("web", "sweeper", "mint"):
        assert all(unit(name)[key][-1] not in ("", off[key]) for key in off)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", PROCESSES)
def test_units_are_understood_by_systemd(name: str) -> None:
    """systemd itself finds nothing to say about a unit but that the program is not installed here."""
    path = DEPLOY / "systemd" / f"apprentice-{name}.service"
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if f"apprentice-{name}" in line]
    assert [line for line in said if "is not executable" not in line] == []


# ── The runbook ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_runbook_names_what_exists() -> None:
    """Metrics and settings in the runbook are real."""
    text = (DEPLOY / "runbook.md").read_text(encoding="utf-8")
    assert set(re.findall(rf"\b{PREFIX}[A-Z_]+\b", text)) <= known_variables()
    exposed = {sample.name for family in Metrics().registry.collect() for sample in family.samples}
    families = {family.name for family in Metrics().registry.collect()} | exposed
    named = set(re.findall(r"\bapprentice_[a-z_]+\b", text))
    assert {name.removesuffix("_total") for name in named} <= {name.removesuffix("_total") for name in families}


def test_scripts_can_be_run() -> None:
    """What users start is executable."""
    for name in ("action/run.sh", "audit", "create-app", "lock", "make-venv", "pin-images", "system-packages"):
        assert (DEPLOY / name).stat().st_mode & stat.S_IXUSR, name
