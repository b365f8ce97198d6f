"""Compiles the modules of a new environment, in the sandbox, on its own interpreter: parsing is not safe outside either.

It runs as `python -I -S -c` on Python 3.8 or later; argv[1] is the directory of the packages. It writes a tar archive to the
descriptor in $APPRENTICE_REPORT_FD: the bytecode files, by their paths below that directory.
"""

# Runs on the project's interpreter, which may lack what the linter asks for:
# ruff: noqa: PTH118, PTH202

from __future__ import annotations

import compileall
import os
import sys
import tarfile
import tempfile

MAX_BYTES = 40 << 20


def main() -> None:
    """Compile everything; write until it is enough."""
    root, left = sys.argv[1], MAX_BYTES
    sys.pycache_prefix = made = tempfile.mkdtemp()
    compileall.compile_dir(root, maxlevels=20, quiet=2)
    descriptor = os.fdopen(int(os.environ.pop("APPRENTICE_REPORT_FD")), "wb")
    with descriptor as report, tarfile.open(fileobj=report, mode="w|", format=tarfile.PAX_FORMAT) as packed:
        for directory, _, names in os.walk(made + root):
            for name in names:
                path = os.path.join(directory, name)
                left -= os.path.getsize(path)
                if left < 0:
                    return
                packed.add(path, os.path.join(os.path.relpath(directory, made + root), "__pycache__", name))


main()
