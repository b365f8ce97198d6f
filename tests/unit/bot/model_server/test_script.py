"""What a script may say, and how it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.model_server.script import Script, ScriptedCall, ServerFeatures, Turn, When, parse_script, read_script
from workers.errors import BadInput


def test_yaml_and_json_say_the_same() -> None:
    """A script reads alike in both, with everything else at its default."""
    yaml = "turns:\n- when: {contains: [a]}\n  calls: [{name: f, arguments: {x: 1}}, {name: g, arguments: '{'}]\n"
    json = '{"turns":[{"when":{"contains":["a"]},"calls":[{"name":"f","arguments":{"x":1}},{"name":"g","arguments":"{"}]}]}'
    calls = (ScriptedCall(name="f", arguments={"x": 1}), ScriptedCall(name="g", arguments="{"))
    wanted = Script(turns=(Turn(when=When(contains=("a",)), calls=calls),))
    assert parse_script(yaml, "a script") == parse_script(json, "a script") == wanted
    assert wanted.has == ServerFeatures()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x: 1", "s.yml: object contains unknown field `x`"),
        ("turns: [{when: {foo: 1}, say: a}]", "s.yml: turns[0].when: object contains unknown field `foo`"),
        ("has: {tools: 3}", "s.yml: has.tools: expected `bool`, got `int`"),
        ("- say: a", "s.yml: expected `object`, got `array`"),
        ("", "s.yml: expected `object`, got `null`"),
        ("turns: [{say: a}, {say: a, times: -1}]", "s.yml: turns[1]: `times` cannot be negative"),
        ("otherwise: {say: a, delay: -1}", "s.yml: otherwise: `delay` and `cut` cannot be negative"),
        (
            "otherwise: {raw: a, cut: 1}",
            "s.yml: otherwise: `raw` is sent unchanged: `cut` and `finish` have no place there",
        ),
        ("otherwise: {error: {status: 200}}", "s.yml: otherwise.error: `status` is 200, which is no error"),
        (
            "turns: [{say: a, raw: b}]",
            "s.yml: turns[0]: needs exactly one of say, json, calls, refusal, error, raw; it has say and raw",
        ),
        (
            "turns: [{times: 1}]",
            "s.yml: turns[0]: needs exactly one of say, json, calls, refusal, error, raw; it has none",
        ),
    ],
)
def test_a_wrong_script_is_refused_in_one_line(text: str, said: str) -> None:
    """What is wrong is named with its place in the file."""
    with pytest.raises(BadInput) as refused:
        parse_script(text, "s.yml")
    assert str(refused.value) == said


def test_what_is_no_yaml_is_one_line() -> None:
    """A syntax error keeps its line and column, and loses its line breaks."""
    with pytest.raises(BadInput, match=r"^s\.yml, line 1, column 5: not valid YAML: .*$"):
        parse_script("a: [", "s.yml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and one that is no text are named."""
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\xff")
    for path, said in ((tmp_path / "absent", "cannot be read: No such file or directory"), (binary, "is not UTF-8")):
        with pytest.raises(BadInput) as refused:
            read_script(path)
        assert str(refused.value) == f"{path} {said}"
