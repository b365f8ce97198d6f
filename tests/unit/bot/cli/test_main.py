"""How the process of a command ends."""

from __future__ import annotations

import os
import subprocess
import sys

WRONG = """
import sys
from bot.cli.main import app, main

@app.command()
def wrong() -> None:
    raise ValueError("no such day")

sys.argv = ["apprentice", "wrong"]
main()
"""


def test_an_error_in_apprentice_is_shown_in_full_and_cannot_be_taken_for_a_finding() -> None:
    """The code is its own, and the last line says whose error it is."""
    ended = subprocess.run([sys.executable, "-c", WRONG], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (os.EX_SOFTWARE, "")
    assert ended.stderr.startswith("Traceback")
    error, said = ended.stderr.split("ValueError: ")[-1].splitlines()[0], " ".join(ended.stderr.split())
    assert error == "no such day"
    assert said.endswith("an error in Apprentice, not in your code; please report it with the lines above")


WARMS = """
import atexit, sys
from bot.cli.main import app, main
from memory.retrieval.embeddings import MiniLM

model = MiniLM()
atexit.register(print, "waited until the model was loaded")

@app.command()
def warm() -> None:
    model.warm()
    print("done")
    sys.exit(3)

sys.argv = ["apprentice", "warm"]
main()
"""


def test_a_command_does_not_wait_for_the_embedding_model() -> None:
    """It ends with its own code while the model is still being loaded."""
    ended = subprocess.run([sys.executable, "-c", WARMS], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "done\n", "")
