"""Traces a Python program that a test starts. It is shown to traced runs as `sitecustomize`, and loads the real one after that.

$APPRENTICE_CHILDREN  the directory to leave the lines in, when the program ends; without it nothing is traced
$APPRENTICE_ROOT      the root of the checkout
$APPRENTICE_TRACE     a JSON list of the files that are traced; all where it is empty
"""

# Runs on the project's interpreter, in every program that a test starts:
# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import atexit
import importlib.machinery
import importlib.util
import json
import os
import sys

HERE = os.path.dirname(__file__)


def trace(directory: str) -> None:
    place = os.path.join(HERE, "apprentice_probe", "tracing.py")
    spec = importlib.util.spec_from_file_location("apprentice_tracing", place)
    assert spec is not None, "it is a Python file"
    assert spec.loader is not None, "it is a Python file"
    tracing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tracing)
    tracer = tracing.make_tracer(os.environ["APPRENTICE_ROOT"], json.loads(os.environ["APPRENTICE_TRACE"]))

    def leave() -> None:
        sys.settrace(None)
        with open(os.path.join(directory, f"{os.getpid()}.json"), "w", encoding="utf-8") as stream:
            json.dump(tracer.take(), stream)

    atexit.register(leave)


def load_the_real_one() -> None:
    """Load the sitecustomize that this one hides, if there is one."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [each for each in sys.path if each != HERE])
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if "APPRENTICE_CHILDREN" in os.environ:
    trace(os.environ["APPRENTICE_CHILDREN"])
if __name__ == "sitecustomize":
    load_the_real_one()
