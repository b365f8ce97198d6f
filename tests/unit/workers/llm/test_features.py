"""What an endpoint lacks is told from its own words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workers.llm.endpoint import EndpointFeatures, body_of, without
from workers.llm.messages import ChatMessage, ChatRole, ModelRequest, ToolCall, ToolSpec
from workers.ports import Image

SPEC = ToolSpec(name="grep", description="Search.", parameters={"type": "object"})
PICTURE = ChatMessage(role=ChatRole.USER, text="", images=(Image(media_type="image/png", content=b""),))
EVERYTHING = ModelRequest(messages=(PICTURE,), purpose="x", tools=(SPEC,), schema=SPEC)


@pytest.mark.parametrize(
    ("complaint", "lacking"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("registry.ollama.ai/library/toy:latest does not support tools", "tools"),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "tools"),
        ("tools param requires --jinja flag", "tools"),
        ("No endpoints found that support tool use.", "tools"),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "json_schema"),
        ("This response_format type is unavailable now", "json_schema"),
        ("'response_format.type' must be 'text' or 'json_object'", "json_schema"),
        ("{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'stream_options'], 'msg': 'Extra inputs are not permitted'}]}", "stream_options"),
        ("Your organization must be verified to stream this model: 'stream' is unsupported", "stream"),
        ("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", "images"),
        ("Invalid content type. image_url is only supported by certain models.", "images"),
        ("toy is not a multimodal model: images", "images"),
        ("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.", None),
        ("Invalid schema for response_format 'Verdict'", None),
        ("temperature must be between 0 and 2", None),
        ("something else went wrong", None),
    ],
)  # fmt: skip
def test_a_complaint_names_what_is_lacking(complaint: str, lacking: str | None) -> None:
    """As servers say it; what is wrong with a request otherwise takes nothing away."""
    body = body_of(EVERYTHING, "m", EndpointFeatures(), stream=True)
    less = without(EndpointFeatures(), complaint, body, EVERYTHING)
    assert less == (replace(EndpointFeatures(), **{lacking: False}) if lacking else None)


def test_what_was_not_used_cannot_be_lacking() -> None:
    """So that learning ends: each refusal takes away something that the request held."""
    plain = ModelRequest(messages=(ChatMessage(role=ChatRole.USER, text="hello"),), purpose="x")
    assert (
        without(
            EndpointFeatures(), "tools are not supported", body_of(plain, "m", EndpointFeatures(), stream=True), plain
        )
        is None
    )
    lesser = EndpointFeatures(images=False)
    body = body_of(EVERYTHING, "m", lesser, stream=True)
    assert without(lesser, "images are not supported", body, EVERYTHING) is None


@pytest.mark.parametrize(
    ("name", "arguments", "sent"),
    [
        ("read_file", '{"path": "a.py"}', ("read_file", '{"path": "a.py"}')),
        ("read file!", '{"path": "a', ("read_file_", "{}")),
        ("é" * 99, "[1]", ("_" * 64, "{}")),
        ("", '{"a":' * 5_000, ("_", "{}")),
    ],
)
def test_calls_go_back_in_a_form_that_endpoints_accept(name: str, arguments: str, sent: tuple[str, str]) -> None:
    """A call that was cut, or of no name, would have every later request refused."""
    call = ToolCall(id="1", name=name, arguments=arguments)
    asked = ModelRequest(messages=(ChatMessage(role=ChatRole.ASSISTANT, text="", calls=(call,)),), purpose="x")
    body = json.loads(json.dumps(body_of(asked, "m", EndpointFeatures(), stream=False)))
    (function,) = (each["function"] for each in body["messages"][0]["tool_calls"])
    assert (function["name"], function["arguments"]) == sent
