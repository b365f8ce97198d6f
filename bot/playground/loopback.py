"""HTTP requests to a server on this machine."""

import ssl
from functools import partial

import httpx

NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without it, httpx loads the certificates of all authorities for each request."""

request = partial(httpx.request, trust_env=False, verify=NO_AUTHORITIES)
"""As `httpx.request`; asks no proxy."""
