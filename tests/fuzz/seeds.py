"""Where fuzzing begins: for each target some inputs that its reader accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.fuzz.targets import COUNTS, EVENTS, FILES, FORMATS
from tests.stories.injections import INJECTIONS

CONFIGURATION = Path(__file__).parents[2] / "docs" / "configuration.md"
SAMPLES = Path(__file__).parents[1] / "unit" / "bot" / "samples"
PLACE = {
    "artifactLocation": {"uri": "pkg/a%20b.py", "index": 0},
    "region": {"startLine": 2, "startColumn": 19, "endLine": 2, "endColumn": 23},
}
FIX = {
    "artifactChanges": [
        {
            "artifactLocation": {"uri": "pkg/a%20b.py"},
            "replacements": [{"deletedRegion": PLACE["region"], "insertedContent": {"text": "safe"}}],
        }
    ]
}
SARIF = {
    "version": "2.1.0",
    "runs": [
        {
            "columnKind": "unicodeCodePoints",
            "artifacts": [{"location": {"uri": "pkg/a%20b.py"}}],
            "invocations": [{"executionSuccessful": True}],
            "tool": {
                "driver": {
                    "name": "lens",
                    "rules": [
                        {
                            "id": "no-eval",
                            "defaultConfiguration": {"level": "error"},
                            "properties": {"tags": ["security"], "security-severity": "9.1"},
                        }
                    ],
                }
            },
            "results": [
                {
                    "ruleId": "no-eval",
                    "ruleIndex": 0,
                    "kind": "fail",
                    "level": "note",
                    "message": {"text": "eval is\nevil"},
                    "locations": [{"physicalLocation": PLACE}],
                    "fixes": [FIX],
                    "suppressions": [],
                }
            ],
        }
    ],
}
DIAGNOSTIC = {
    "message": "eval is evil",
    "location": {"path": "pkg/a b.py", "range": {"start": {"line": 2, "column": 3}, "end": {"line": 2, "column": 9}}},
    "severity": "WARNING",
    "code": {"value": "no-eval"},
    "suggestions": [{"range": {"start": {"line": 2, "column": 3}, "end": {"line": 3, "column": 1}}, "text": "safe\n"}],
}
RESULT = {
    "event": "result",
    "id": "tests/test_a.py::test_x",
    "outcome": "failed",
    "seconds": 0.25,
    "type": "KeyError",
    "message": "'a'",
    "frames": [["src/a.py", 7, "get"]],
    "operands": ["1", "2"],
}
REPORT = (
    {"event": "start"},
    {"event": "collect_error", "id": "tests/b.py", "type": "E", "message": "m", "frames": [], "operands": []},
    {"event": "running", "id": "tests/test_a.py::test_x"},
    RESULT,
    {"event": "lines", "id": "tests/test_a.py::test_x", "lines": {"src/a.py": "1-3,7"}},
    {"event": "loaded", "names": ["the plug-in python"]},
    {"event": "finish", "exit": 1},
)
LESSONS = """\
version: 1
source: acme/shop
lessons:
- about: review
  label: F541
  family: f541
  strategy: finding
  mean: 0.2
  weight: 6.0
  teachers: 3
  since: 2026-03-01
  until: 2026-04-01
  taught_by: ['https://github.com/acme/shop/pull/7']
  decisions: [a1b2]
"""
TOML = """\
[project]
requires-python = ">=3.9"
[tool.ruff]
line-length = 100
target-version = "py310"
[tool.ruff.lint]
ignore = ["E501", "S101"]
extend-select = ["B"]
per-file-ignores = {"tests/*" = ["S", "D1"]}
[tool.mypy]
strict = true
disable_error_code = ["no-untyped-def"]
"""
INI = "[mypy]\nstrict = True\nwarn_no_return = off\ndisable_error_code = misc, attr-defined\n"
DIFF = """\
diff --git a/old.py b/new.py
similarity index 90%
rename from old.py
rename to new.py
--- a/old.py
+++ b/new.py
@@ -1,3 +1,4 @@ def f():
 a
-b
+c
+d
 e
\\ No newline at end of file
diff --git "a/t\\303\\251.py" "b/t\\303\\251.py"
new file mode 120000
--- /dev/null
+++ "b/t\\303\\251.py"
@@ -0,0 +1 @@
+x
diff --git a/i.png b/i.png
deleted file mode 100644
Binary files a/i.png and /dev/null differ
"""
COMMENTS = (
    "@apprentice fix the parser\n/apprentice why 3f2a\n",
    "@apprentice[bot]: accept because it is right\r\n> @apprentice reject\n```\n@apprentice ask x\n```\n",
    "<!-- @apprentice fix -->\n  @apprentice explain `a` ``b`` `\n\n- ~~~\n@apprentice share --all\n~~~\n",
)
CHUNKS = (
    {"model": "m", "choices": [{"delta": {"content": "<think>x</think> Hello"}}]},
    {
        "choices": [
            {"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "read", "arguments": "{}"}}]}}
        ]
    },
    {
        "choices": [{"delta": {"refusal": "no"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}},
    },
)
SCRIPT = {
    "key": "k",
    "turns": [
        {"text": "hello", "times": 1, "when": {"contains": ["x"], "tools": ["read"]}},
        {"calls": [{"name": "read", "arguments": {"path": "a.py"}}]},
    ],
}
REQUEST = {
    "model": "m",
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "t"}]}],
    "stream": True,
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}],
}
OUT_OF_RANGE = (b'a: "\\UFFFFFFFF"\n', b'a: "\\U00110000"\n', b"%YAML " + b"9" * 5_000 + b".1\n---\na: b\n")
"""YAML for which PyYAML raises errors that are not its own."""


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def _lines(*documents: object) -> bytes:
    return b"".join(_json(each) + b"\n" for each in documents)


SEEDS: Mapping[str, tuple[bytes, ...]] = {
    "webhook": tuple(
        bytes([EVENTS.index(path.stem)]) + path.read_bytes()[:4000] for path in sorted(SAMPLES.glob("*.json"))
    ),
    "commands": tuple(text.encode() for text in COMMENTS),
    "configuration": (
        *(bytes([at]) + TOML.replace("tool.ruff.", "").encode() for at in (0, 1, 2)),
        *(bytes([at]) + INI.encode() for at in (3, 4)),
        bytes([0]) + TOML.encode(),
    ),
    "repository_file": (
        re.findall(r"```yaml\n(.*?)```", CONFIGURATION.read_text(encoding="utf-8"), re.DOTALL)[0].encode(),
        b"paths: {include: [src], exclude: ['*.md']}\nrules: {F: off, style: {severity: info, only: [a]}}\nsilent: true\n",
        b"environment: {python: 3.12, extras: [a], requirements: [b.txt]}\nreviews: {opened: no}\nlimits: {comments: 0}\n",
        *OUT_OF_RANGE,
    ),
    "learnings": (LESSONS.encode(), yaml.safe_dump(yaml.safe_load(LESSONS)).encode(), *OUT_OF_RANGE),
    "counts": (COUNTS.encode(), yaml.safe_dump(yaml.safe_load(COUNTS)).encode()),
    "diff": (DIFF.encode(), b"x b/\xc3\xa9.py\0a\nb\nc\0a\nB\nc", b"a.py\0\0new\n", b"a.py\0old\n\0"),
    "findings": (
        bytes([0]) + _json(SARIF),
        bytes([1]) + _json({"diagnostics": [DIAGNOSTIC], "severity": "ERROR"}),
        bytes([2]) + _lines(DIAGNOSTIC),
    ),
    "test_report": (_lines(*REPORT), *(_lines(each) for each in REPORT)),
    "quoted": (*(text.encode() for text in INJECTIONS.values()),),
    "model_reply": (_lines(*CHUNKS).strip(), *(_json(each) for each in CHUNKS)),
    "mint_request": (
        b'{"type": "token.1", "repository_id": 7, "installation_id": 8}',
        b'{"type": "app.1"}',
        b'{"type": "examine.1"}',
        b'{"type": "deliveries.2", "cursor": "v1_17323292984"}',
        b'{"type": "redeliver.1", "delivery_id": 9}',
    ),
    "redaction": (
        b"\x03QU7Z&%/ yHQx ghp_aaaaaaaaaaaaaaaaaaaaaaaa https://u:pQ@host -----BEGIN PRIVATE KEY-----\nx",
        "\x07öä\"\\'<&> QQ eyJaaaaaaaaaa.eyJaaaaaaaaaa.bbbbbbbbbb AKIAABCDEFGHIJKLMNOP".encode(),
    ),
    "model_script": (_json(SCRIPT), yaml.safe_dump(SCRIPT).encode(), _json(REQUEST), *OUT_OF_RANGE),
}
assert len(FILES) == 5 and len(FORMATS) == 3, "the seeds name them by number"
