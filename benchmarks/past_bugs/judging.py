"""Whether a patch is right by the original: its text, its whole suite, and what the changed functions give."""

from __future__ import annotations

import ast
import shutil
import tempfile
from pathlib import Path

import msgspec

from workers.diffs import patched
from workers.ports import Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.launching import WORKSPACE
from workers.sandbox.project import Project
from workers.sandbox.run_tests import base_environment, run_tests

PLUGIN = Path(__file__).with_name("twin_calls.py")


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`lost` counts tests that pass with the original and not with the patch; `calls` that of both versions of a function
    on the same arguments, `different` those with another outcome, `first` one of these."""

    same_code: bool = False
    lost: int = 0
    calls: int = 0
    different: int = 0
    first: str = ""

    @property
    def right(self) -> bool:
        """Whether nothing tells the patched code from the original."""
        return self.same_code or not (self.lost or self.different)


class _Calls(msgspec.Struct):
    """What the plug-in counts."""

    compared: int = 0
    different: int = 0
    first: str = ""


def judged(file: str, wrong: str, patch: str, original: Project, seconds: float) -> Verdict:
    """A patch of the wrong file, held against the project with the original one. Raises BadInput when it does not apply."""

    def before_patch(name: str) -> str:
        return wrong if name == file else (original.tree / name).read_bytes().decode()

    texts = patched(patch, before_patch)
    if texts.keys() == {file} and _code(texts[file]) == _code((original.tree / file).read_bytes().decode()):
        return Verdict(same_code=True)
    limits = Limits(wall_seconds=seconds, cpu_seconds=int(2 * seconds), output_kb=65_536, disk_mb=1024)
    files = {file: wrong.encode()} | {name: each.encode() for name, each in texts.items()}
    before = run_tests(Bubblewrap(), original, limits=limits).report
    after = run_tests(Bubblewrap(), original, overlay=files, limits=limits).report
    calls = _twin_calls(file, files[file], original, limits)
    return Verdict(lost=len(before.lost(after)), calls=calls.compared, different=calls.different, first=calls.first)


def _code(text: str) -> str:
    return ast.dump(ast.parse(text))


def _twin_calls(file: str, other: bytes, original: Project, limits: Limits) -> _Calls:
    """What the plug-in counted; nothing where it could not run."""
    with tempfile.TemporaryDirectory(prefix="apprentice-twins-") as folder:
        shutil.copy(PLUGIN, folder)
        twin = Path(folder, "other_version.py")
        twin.write_bytes(other)
        for each in (Path(folder), twin, Path(folder, PLUGIN.name)):
            each.chmod(0o755)
        variables = {
            **base_environment(original, Path(folder)),
            "PYTEST_ADDOPTS": f"-p {PLUGIN.stem} --rootdir={WORKSPACE}",
            "APPRENTICE_ROOT": str(WORKSPACE),
            "TWIN_FILE": file,
            "TWIN_OTHER": str(twin),
        }
        workload = Workload(
            command=original.test_command,
            tree=original.tree,
            python=original.python,
            env=variables,
            read_only=(*original.read_only, Path(folder)),
            limits=limits,
        )
        lines = Bubblewrap().run(workload).report.splitlines()
    return msgspec.json.decode(lines[-1], type=_Calls) if lines else _Calls()
