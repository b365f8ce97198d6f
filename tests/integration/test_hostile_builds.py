"""Hostile packages: whatever a build or a wheel tries, nothing of it runs outside of the sandbox, and one line says what failed."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from tests.package_index import PackageIndex, package_index, wheel, zipped
from workers.environments.building import Builder
from workers.environments.editable import dependencies
from workers.environments.interpreters import Interpreter
from workers.environments.locking import Wanted
from workers.environments.store import EnvironmentStore
from workers.environments.uv_command import PackageIndexes
from workers.errors import CannotRun
from workers.ports import Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap

pytestmark = pytest.mark.sandbox

PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
OURS = Interpreter(python=Path(sys.base_prefix, "bin", "python3"), version=".".join(map(str, sys.version_info[:3])))
TIGHT = Limits(wall_seconds=8, cpu_seconds=4, memory_mb=256, disk_mb=24, output_kb=1024)
WRITES_A_WHEEL = """
import zipfile

def a_wheel(place, name="evil", version="1.0", found="", more=""):
    info = f"{name}-{version}.dist-info"
    filename = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(f"{place}/{filename}", "w") as wheel:
        wheel.writestr(f"{name}.py", f"FOUND = {found!r}")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{more}")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return filename
"""
ATTACKS = {
    "reads secrets": (
        """
    import glob, os
    texts = [str(dict(os.environ))]
    for path in ("@bait@/secret.txt", "@home@/apprentice.db", *glob.glob("/proc/*/environ")):
        try:
            texts.append(open(path, errors="replace").read())
        except OSError:
            pass
    if not any("planted" in text for text in texts):
        raise RuntimeError("no secret")
    return a_wheel(place, found=str(texts))""",
        "RuntimeError: no secret",
    ),
    "opens a socket": (
        """
    import socket
    socket.create_connection(("127.0.0.1", @port@), 2)
    return a_wheel(place)""",
        "Connection refused",
    ),
    "writes outside": (
        """
    import os, sys
    written, own_memory = [], os.stat("/dev/shm").st_dev
    for path in ("@bait@", "@home@", "@home@/environments/packages", sys.prefix, sys.prefix + "/bin", "/usr/lib", "/etc"):
        try:
            open(path + "/planted-by-a-build", "w").close()
            if os.stat(path).st_dev != own_memory:  # directories on the way to what is shown, where the tests are in memory
                written.append(path)
        except OSError:
            pass
    if not written:
        raise RuntimeError("nowhere to write")
    return a_wheel(place)""",
        "RuntimeError: nowhere to write",
    ),
    "never ends": ("\n    while True: pass", "and was stopped"),
    "waits for ever": ("\n    import time; time.sleep(1000)", "ran longer than 8 s and was stopped"),
    "fills the disk": (
        """
    with open("/tmp/much", "wb") as stream:
        while True:
            stream.write(bytes(1 << 20))""",
        ("No space left", "File too large", "memory or disk"),
    ),
    "makes another distribution": (
        '\n    return a_wheel(place, name="pytest", version="99.0")',
        "another distribution: refused",
    ),
    "makes a newer version": ('\n    return a_wheel(place, version="99.0")', "another distribution: refused"),
    "forges the answer": (
        """
    import os
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, b'{"files": {"../../../../planted-by-a-build": "AAAA"}}')
        except OSError:
            pass
    os._exit(0)""",
        ("another distribution: refused", "failed"),
    ),
    "answers with nonsense": (
        "\n    import os\n    [os.write(d, b'[1]') for d in range(3, 20) if os.path.exists(f'/proc/self/fd/{d}')]\n    os._exit(0)",
        "failed",
    ),
    "ends at once": ("\n    import os; os._exit(3)", "exit code"),
}


@dataclass
class World:
    """An index, a home, and bait beside it."""

    index: PackageIndex
    home: Path
    bait: Path
    lines: list[str] = field(default_factory=list)

    def builder(self, **changes: object) -> Builder:
        given = {"given": PackageIndexes(main=self.index.url), "limits": TIGHT, **changes}
        return Builder(
            sandbox=Bubblewrap(),
            store=EnvironmentStore(self.home),
            interpreter=OURS,
            progress=self.lines.append,
            **given,  # type: ignore[arg-type]
        )

    def build(self, *requirements: str, **changes: object) -> Path:
        """The python of an environment."""
        return self.builder(**changes).environment(Wanted(requirements=requirements))[0]

    def refusal(self, *requirements: str, **changes: object) -> str:
        """The one line why there is no environment."""
        with pytest.raises(CannotRun) as refused:
            self.build(*requirements, **changes)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    def is_unharmed(self) -> None:
        """Nothing was written but what belongs there, and no environment was made of it."""
        assert [path.name for path in self.bait.iterdir()] == ["secret.txt"]
        assert not list(self.home.rglob("planted-by-a-build"))
        assert not list(Path(sys.prefix).glob("*/planted-by-a-build"))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """With secrets in the environment and in files."""
    monkeypatch.setenv("DEPLOY_KEY", "planted-secret")
    monkeypatch.setenv("UV_PUBLISH_TOKEN", "planted-secret")
    bait, home = tmp_path / "bait", tmp_path / "home"
    bait.mkdir()
    home.mkdir()
    (bait / "secret.txt").write_text("planted-secret")
    (home / "apprentice.db").write_text("planted-secret")
    with package_index() as index:
        yield World(index, home, bait)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_build(world: World, attack: str) -> None:
    """It fails, one line says how, and the machine is as before."""
    body, expected = ATTACKS[attack]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        given = {"@bait@": str(world.bait), "@home@": str(world.home), "@port@": str(listener.getsockname()[1])}
        for mark, value in given.items():
            body = body.replace(mark, value)
        backend = f"{WRITES_A_WHEEL}\ndef build_wheel(place, config_settings=None, metadata_directory=None):{body}\n"
        world.index.add_sdist("evil", "1.0", {"pyproject.toml": PYPROJECT, "backend.py": backend})
        line = world.refusal("evil")
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert line.startswith("the build of evil-1.0.tar.gz ")
    assert any(each in line for each in ([expected] if isinstance(expected, str) else expected)), line
    assert "planted" not in line.replace("planted-by-a-build", "")
    world.is_unharmed()


def test_an_honest_build(world: World) -> None:
    """The same source without an attack is built, once: the attacks fail for what they do."""
    backend = f"{WRITES_A_WHEEL}\ndef build_wheel(place, config_settings=None, metadata_directory=None):\n    return a_wheel(place)\n"
    world.index.add_sdist("evil", "1.0", {"pyproject.toml": PYPROJECT, "backend.py": backend})
    python = world.build("evil")
    assert next(python.parents[1].glob("lib/python*/site-packages/evil.py")).read_text() == "FOUND = ''"
    world.index.add_wheel("other", "1.0")
    world.lines.clear()
    world.build("evil", "other")
    assert not any(line.startswith("building") for line in world.lines)


EDITABLE = {
    "a name that leads out": 'return {"files": {"../../planted-by-a-build-1-py3-none-any.whl": "AAAA"}}',
    "metadata that lead out": 'return {"files": {"METADATA": encoded(b"Name: ../../planted-by-a-build\\nVersion: 1\\n")}}',
    "no version": 'return {"files": {"METADATA": encoded(b"Name: kitchen\\nVersion: ../x\\n")}}',
    "a file beside the sources that leads out": 'return {"files": {"METADATA": encoded(b"Name: kitchen\\nVersion: 1\\n")}, "generated": {"../../planted-by-a-build": "AAAA"}}',
    "no wheel": 'return {"files": {"kitchen-1-py3-none-any.whl": "AAAA"}}',
    "nothing": 'return {"files": {}}',
}


@pytest.mark.parametrize("answer", EDITABLE)
def test_a_hostile_project(world: World, tmp_path: Path, answer: str) -> None:
    """A project whose backend writes the answer of its build itself gets one line, or an installation without that build."""
    tree = tmp_path / "tree"
    tree.mkdir()
    forged = (
        EDITABLE[answer]
        .removeprefix("return ")
        .replace("encoded(", "base64.b64encode(")
        .replace('\\n")', '\\n").decode()')
    )
    backend = (
        "import base64, json, os\n"
        f"for descriptor in range(3, 20):\n    try:\n        os.write(descriptor, json.dumps({forged}).encode())\n"
        "    except OSError:\n        pass\nos._exit(0)\n"
    )
    (tree / "pyproject.toml").write_text(PYPROJECT + '[project]\nname = "kitchen"\nversion = "1"\n')
    (tree / "backend.py").write_text(backend)
    try:
        built = world.builder().project(tree, ".", frozenset())
        dependencies(Path(url2pathname(urlsplit(built.wheel.file.url).path)), (), OURS)
    except CannotRun as refused:
        assert "\n" not in str(refused)
    world.is_unharmed()
    assert not list(tmp_path.rglob("planted-by-a-build*"))


def test_a_project_whose_build_fails(world: World, tmp_path: Path) -> None:
    """It is installed by what its files state: importable, with its name and its commands."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").write_text(
        PYPROJECT + '[project]\nname = "kitchen"\nversion = "3"\n[project.scripts]\ncook = "kitchen:cook"\n'
    )
    (tree / "backend.py").write_text("raise SystemExit(1)\n")
    (tree / "kitchen.py").write_text("def cook():\n    print('soup')\n")
    built = world.builder().project(tree, ".", frozenset())
    assert "it is installed without a build" in world.lines[-1]
    python, installed = world.builder().environment(Wanted(requirements=()), [built.wheel])
    assert installed == {"kitchen": "3"}
    script = "import importlib.metadata as m; print(m.version('kitchen'))"
    workload = Workload(command=("sh", "-c", f'python -c "{script}" && cd /tmp && cook'), tree=tree, python=python)
    assert Bubblewrap().run(workload).stdout == "3\nsoup\n"


def test_a_file_with_another_hash(world: World) -> None:
    """Bytes that were swapped on their way are not installed."""
    world.index.add_wheel("honest", "1.0")
    world.index.swapped["honest-1.0-py3-none-any.whl"] = wheel("honest", "1.0", {"honest.py": "raise SystemExit\n"})
    assert world.refusal("honest") == "honest-1.0-py3-none-any.whl has another hash than its index states: refused"


def test_a_name_of_the_private_index(world: World) -> None:
    """A newer version of a private name on the public index is not asked for (dependency confusion)."""
    world.index.add_wheel("acme-internal", "1.0")
    with package_index() as public:
        public.add_wheel("acme-internal", "99.0", {"acme.py": ""})
        given = PackageIndexes(main=public.url, first=(world.index.url,))
        _, installed = world.builder(given=given).environment(Wanted(requirements=("acme-internal",)))
        line = world.refusal("acme-internal>=2", given=given)
    assert installed == {"acme-internal": "1.0"}
    assert "acme-internal" in line
    assert public.asked == []


def test_a_name_of_the_repository(world: World) -> None:
    """What a repository defines itself is never taken from an index, whoever requires it."""
    world.index.add_wheel("plugin", "1.0", requires=["acme-core"])
    world.index.add_wheel("acme-core", "99.0")
    _, installed = world.builder().environment(Wanted(requirements=("plugin",), own=frozenset({"acme-core"})))
    assert installed == {"plugin": "1.0"}
    assert "acme-core" not in world.index.asked


def test_a_poisoned_package(world: World) -> None:
    """A cached file that was changed is fetched anew, and a line says so."""
    world.index.add_wheel("honest", "1.0", {"honest.py": "SAFE = True\n"})
    world.build("honest")
    (cached,) = (world.home / "environments" / "packages").glob("*/honest-*")
    cached.write_bytes(wheel("honest", "1.0", {"honest.py": "SAFE = False\n"}))
    world.index.add_wheel("other", "1.0")
    python = world.build("honest", "other")
    assert "the cached honest-1.0-py3-none-any.whl was changed: it is not used, and fetched anew" in world.lines
    assert next(python.parents[1].glob("lib/python*/site-packages/honest.py")).read_text() == "SAFE = True\n"


@pytest.mark.parametrize("change", ["edited", "added", "removed", "same size and time"])
def test_a_poisoned_environment(world: World, change: str) -> None:
    """A cached environment that was changed is made anew, and a line says so."""
    world.index.add_wheel("honest", "1.0", {"honest.py": "SAFE = True\n"})
    python = world.build("honest")
    module = next(python.parents[1].glob("lib/python*/site-packages/honest.py"))
    match change:
        case "edited":
            module.write_text("SAFE = False\n")
        case "added":
            module.with_name("zz.pth").write_text("import honest\n")
        case "removed":
            module.unlink()
        case _:
            before = module.stat()
            module.write_text("SAFE = None\n")
            os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert world.build("honest") == python
    assert "a cached environment was changed: it is not used, and made anew" in world.lines
    assert module.read_text() == "SAFE = True\n"
    assert not module.with_name("zz.pth").exists()


def test_what_starts_with_python(world: World) -> None:
    """A wheel with code that every start of its interpreter would run is installed, and does not run outside of the sandbox."""
    planted = world.bait / "planted-by-a-wheel"
    start = f"import pathlib; pathlib.Path({str(planted)!r}).touch()\n"
    world.index.add_wheel("evil", "1.0", {"evil.pth": start, "sitecustomize.py": start, "evil.py": start})
    python = world.build("evil")
    assert next(python.parents[1].glob("lib/python*/site-packages/evil.pth")).read_text() == start
    world.build("evil")
    world.is_unharmed()


@pytest.mark.parametrize(
    "path", ["../../../planted-by-a-build", "/tmp/planted-by-a-build", "evil-1.0.data/scripts/../../planted-by-a-build"]
)
def test_a_wheel_that_leads_out(world: World, path: str) -> None:
    """No file of a wheel lands outside of its environment."""
    world.index.add_wheel("evil", "1.0", {path: "x"})
    try:
        world.build("evil")
    except CannotRun as refused:
        assert "\n" not in str(refused)
    assert not Path("/tmp/planted-by-a-build").exists()
    assert not list(world.home.parent.rglob("bait/planted-by-a-build"))
    made = [
        path
        for path in world.home.rglob("planted-by-a-build")
        if "site-packages" not in path.parts and "bin" not in path.parts
    ]
    assert made == []


def test_a_wheel_that_unpacks_to_too_much(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is weighed before it is unpacked."""
    monkeypatch.setattr("workers.environments.building.MAX_UNPACKED_MB", 1)
    files = {f"evil/{number}.bin": "0" * (1 << 19) for number in range(4)}
    world.index.add_wheel("evil", "1.0", files)
    assert world.refusal("evil").endswith("evil-1.0-py3-none-any.whl refused")


def test_a_file_that_is_no_wheel(world: World) -> None:
    """One line, and no environment."""
    world.index.add(
        "evil-1.0-py3-none-any.whl",
        zipped({"evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"})[:-30],
    )
    assert "evil" in world.refusal("evil")


def test_another_user_reads_an_environment(world: World, tmp_path: Path) -> None:
    """The sandbox does, bytecode included, though our own files are closed to others."""
    world.index.add_wheel(
        "honest", "1.0", {"honest/__init__.py": "from honest import inner\n", "honest/inner.py": "A = 1\n"}
    )
    before = os.umask(0o077)
    try:
        python = world.build("honest")
    finally:
        os.umask(before)
    (tmp_path / "tree").mkdir()
    script = "import honest.inner as m; print(m.A, bool(open(m.__cached__, 'rb').read()))"
    workload = Workload(command=("python", "-c", script), tree=tmp_path / "tree", python=python)
    assert Bubblewrap().run(workload).stdout == "1 True\n"


def test_nothing_can_be_written_through_a_link(world: World) -> None:
    """No file of an environment shares its content with the cache or with another environment."""
    world.index.add_wheel("honest", "1.0", {"honest.py": "SAFE = True\n"})
    python = world.build("honest")
    for path in python.parents[1].rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert path.stat().st_nlink == 1, path


def test_without_an_index(world: World) -> None:
    """One line that says what can still be done."""
    closed = PackageIndexes(main="http://127.0.0.1:9/simple")
    line = world.refusal("honest", given=closed)
    assert line.startswith("the package index cannot be reached, so nothing new can be installed: ")
    assert "APPRENTICE_PYTHON" in line
