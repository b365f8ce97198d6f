"""`apprentice model-server`: the scripted model on a port until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import out, refusing
from workers.errors import BadInput


def model_server(
    script: Annotated[Path | None, typer.Option(metavar="FILE", help="Answer by this script, YAML or JSON.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")] = 0,
) -> None:
    """A stand-in for a model: speaks OpenAI's protocol and answers by a script."""
    from bot.model_server.script import read_script
    from bot.model_server.server import ModelServer

    with refusing():
        if script is None:
            raise BadInput("give --script FILE")
        server = ModelServer(read_script(script), host=host, port=port)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
        try:
            with server:
                out.print(f"{server.url}: a protocol stand-in, not a model; Ctrl-C ends it", markup=False)
                threading.Event().wait()
        except KeyboardInterrupt:
            out.print("ended")
