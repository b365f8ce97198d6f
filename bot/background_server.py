"""A web application on a port of this machine, in a thread of this process: the playground and the scripted model."""

import socket
import threading
import time
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from workers.errors import BadInput

LOOPBACK = "127.0.0.1"
_START_SECONDS = 20.0
_STOP_SECONDS = 5  # for requests that are still in progress when the server stops
_HIGHEST_PORT = 65535


class BackgroundServer:
    """Listens from the start of its life; serves between `start` and `stop`. `port` 0 takes a free one.

    Raises BadInput for an address that it cannot listen on.
    """

    def __init__(self, application: ASGIApp, *, name: str, host: str = LOOPBACK, port: int = 0) -> None:
        self._name = name
        self._socket = _listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.root = f"http://{shown}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name=name, daemon=True)

    @property
    def stopping(self) -> bool:
        return self._server.should_exit

    def start(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError(f"the {self._name} did not start")
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        cause = error.strerror if isinstance(error, OSError) else f"a port is a number from 0 to {_HIGHEST_PORT}"
        raise BadInput(f"cannot listen on {host}:{port}: {cause}; give another --host or --port") from error
    # asyncio does this only where a socket names its protocol; without it, an answer's second piece waits 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
