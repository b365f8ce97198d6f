"""Compiles the modules of a new environment, in the sandbox, on its own interpreter: parsing is not safe outside either.

It runs as `python -I -S -c` on Python 3.8 or later; argv[1] is the directory of the packages. For each module it writes two lines to
the descriptor in $APPRENTICE_REPORT_FD: its path below the directory, and the bytecode file's content in base64.
"""

# Runs on the project's interpreter, which may lack what the linter asks for:
# ruff: noqa: PTH116, PTH118, PTH123

from __future__ import annotations

import base64
import importlib._bootstrap_external as external
import os
import sys
import warnings

MOST_BYTES, LARGEST_MODULE = 40 << 20, 1 << 20
SELDOM_IMPORTED = ("tests", "test", "__pycache__")


def main() -> None:
    """Compile until enough is written; a module that does not compile is passed over."""
    root, left = sys.argv[1], MOST_BYTES
    warnings.simplefilter("ignore")
    with os.fdopen(int(os.environ.pop("APPRENTICE_REPORT_FD")), "w", encoding="ascii", errors="ignore") as report:
        for directory, subdirectories, names in os.walk(root):
            subdirectories[:] = sorted(each for each in subdirectories if each not in SELDOM_IMPORTED)
            for name in sorted(names):
                path = os.path.join(directory, name)
                found = os.stat(path)
                if not name.endswith(".py") or found.st_size > LARGEST_MODULE or not path.isascii():
                    continue
                with open(path, "rb") as stream:
                    source = stream.read()
                try:
                    code = compile(source, path, "exec", dont_inherit=True)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
                content = external._code_to_timestamp_pyc(code, int(found.st_mtime), found.st_size)  # type: ignore[attr-defined]
                left -= len(content)
                if left < 0:
                    return
                report.write(os.path.relpath(path, root) + "\n" + base64.b64encode(content).decode("ascii") + "\n")


main()
