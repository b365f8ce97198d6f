"""HTTP requests to a server on this machine."""

import ssl

import httpx

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without it, httpx loads the certificates of all authorities for each request."""


def request(
    method: str, url: str, *, headers: dict[str, str], timeout: float, content: bytes | None = None, json: object = None
) -> httpx.Response:
    """The answer, within `timeout` seconds for each step. No proxy is asked. Raises httpx.HTTPError."""
    return httpx.request(
        method,
        url,
        headers=headers,
        content=content,
        json=json,
        timeout=timeout,
        trust_env=False,
        verify=NO_AUTHORITIES,
    )
