"""`apprentice model-server`: a script, a recording, or a real endpoint that is recorded, behind a port until Ctrl-C."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.console import out, refusing
from workers.errors import BadInput

if TYPE_CHECKING:
    from bot.model_server.server import Endpoint

ScriptFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Answer by this script, YAML or JSON.")]
RecordUrl = Annotated[str | None, typer.Option(metavar="URL", help="Forward to this endpoint, and record it.")]
ToFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Where --record appends each exchange as a line.")]
KeyName = Annotated[str | None, typer.Option(metavar="NAME", help="The variable with the endpoint's key.")]
ReplayFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Answer from this recording.")]


def model_server(
    script: ScriptFile = None,
    record: RecordUrl = None,
    to: ToFile = None,
    key_from: KeyName = None,
    replay: ReplayFile = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")] = 0,
) -> None:
    """A stand-in for a model: speaks OpenAI's protocol by a script, or records and replays a real endpoint."""
    from bot.model_server.server import Server

    with refusing():
        server = Server(_endpoint(script, record, to, key_from, replay), host=host, port=port)
        try:
            with server:
                out.print(f"{server.url}: a protocol stand-in, not a model; Ctrl-C ends it", markup=False)
                threading.Event().wait()
        except KeyboardInterrupt:
            out.print("ended")


def _endpoint(
    script: Path | None, record: str | None, to: Path | None, key_from: str | None, replay: Path | None
) -> Endpoint:
    """The one that was asked for. Raises BadInput for none, for several, and for what cannot be read or written."""
    from bot.model_server.playing import Play
    from bot.model_server.recording import read_recording
    from bot.model_server.replaying import Replay
    from bot.model_server.script import read_script
    from workers.settings import environment_secrets, secret_variable

    if sum(given is not None for given in (script, record, replay)) != 1:
        raise BadInput("give one of --script, --record and --replay")
    if (record is None) != (to is None):
        raise BadInput("--record and --to go together")
    key = secret_variable(key_from) if key_from is not None else ""
    if script is not None:
        return Play(read_script(script))
    if replay is not None:
        return Replay(read_recording(replay), secrets=environment_secrets() | {key})
    return _recorder(record, to, key)


def _recorder(record: str | None, to: Path | None, key: str) -> Endpoint:
    from bot.model_server.forwarding import Recorder
    from workers.settings import environment_secrets

    assert record is not None
    assert to is not None
    return Recorder(record, to, key=key, secrets=environment_secrets())
