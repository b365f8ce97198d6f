from __future__ import annotations

import pytest

from workers.github.pictures import is_ours, kind_of, pictures, sources

API = "https://api.github.com"
ID = "0b0e1a1e-5d3b-4a7e-9a64-3a3f0a4e2c11"


@pytest.mark.parametrize(
    "url",
    [
        f"https://github.com/user-attachments/assets/{ID}",
        f"https://private-user-images.githubusercontent.com/1/2-{ID}.png?jwt=abc",
        f"https://user-images.githubusercontent.com/1/2-{ID}.png",
    ],
)
def test_uploads_to_github_are_fetched(url: str) -> None:
    """What people paste into GitHub's own field is kept by GitHub."""
    assert is_ours(url, API)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/x.png",
        "https://evil.example/user-attachments/assets/x.png",
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:6379/",
        "file:///etc/passwd",
        "data:image/png;base64,AAAA",
        "https://github.com/user-attachments/assets/../../settings",
        "https://github.com@evil.example/user-attachments/assets/x",
        "https://github.com:8443/user-attachments/assets/x",
        "http://github.com/user-attachments/assets/x",
        "https://user-images.githubusercontent.com.evil.example/x",
        "https://user-images.githubusercontent.com:22/x",
        "https://api.github.com/repos/o/r",
        "//evil.example/x.png",
        "https://[evil",
        "https://user-images.githubusercontent.com:x/y",
        "",
    ],
)
def test_nothing_else_is_asked(url: str) -> None:
    """No text in an issue makes us ask another host, our own network, or another path."""
    assert not is_ours(url, API)


def test_an_address_that_cannot_be_asked() -> None:
    """An address of GitHub's that no client takes is left out, and fails nothing."""
    assert pictures('<img src="https://github.com/user-attachments/assets/&#1;x">', API) == ()


def test_pictures_are_found_in_html() -> None:
    """The addresses of pictures, each once, with their entities read; broken HTML breaks nothing."""
    html = '<p><img src="https://a/x?b=1&amp;c=2"><a href="y"><img alt="" src=z></a><img src="z"><img></p><img src="'
    assert sources(html) == ["https://a/x?b=1&c=2", "z"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"<svg onload='alert(1)'>", ""),
        (b"%PDF-1.7", ""),
        (b"", ""),
    ],
)
def test_kinds_by_their_first_bytes(content: bytes, kind: str) -> None:
    """What a file is, not what it says it is."""
    assert kind_of(content) == kind
