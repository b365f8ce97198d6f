"""What the settings of a model may be: its address, its key, its price, a file of principles."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr

_PRICE = re.compile(r"\d+(\.\d+)?(,\d+(\.\d+)?){2}")


def _address(url: str) -> str:
    """An address that can be connected to."""
    import httpx  # takes a tenth of a second, and most commands use no model

    try:
        parts = httpx.URL(url)
        fits = parts.scheme in ("http", "https") and parts.host.encode("idna") and (parts.port or 0) < 1 << 16
    except (httpx.InvalidURL, UnicodeError):  # the second of a host that no name can be
        fits = False
    if url and not fits:
        raise ValueError("write it as https://host/v1, or leave it empty")
    return url


def _key(key: SecretStr) -> SecretStr:
    """A key that fits into a header of HTTP, without the line feed at the end of a file."""
    text = key.get_secret_value().strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("a key holds letters, digits and signs of ASCII on one line")
    return SecretStr(text)


def _price(price: str) -> str:
    if price and not _PRICE.fullmatch(price):
        raise ValueError("write three prices in US dollars per million tokens, as 2.5,0.25,10")
    return price


def _principles(path: Path | None) -> Path | None:
    """An existing text file with at least one numbered principle."""
    try:
        text = path.read_text(encoding="utf-8") if path else "1. Ours."
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8") from error
    if not re.search(r"^\d+\. \S", text, re.MULTILINE):
        raise ValueError(f"{path} has no principle; write each on a line, as `1. …`")
    return path


ModelAddress = Annotated[str, AfterValidator(_address)]
ModelKey = Annotated[SecretStr, AfterValidator(_key)]
ModelPrice = Annotated[str, AfterValidator(_price)]
Principles = Annotated[Path | None, AfterValidator(_principles)]
