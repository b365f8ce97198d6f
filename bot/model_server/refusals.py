"""What the endpoint refuses, in OpenAI's words and form; pure."""

from __future__ import annotations

from bot.model_server.asked import Asked
from bot.model_server.errors import Refused
from bot.model_server.script import Has, Script


def check_key(script: Script, authorization: str) -> None:
    """Raise Refused 401 unless the header carries the script's key."""
    if script.key and authorization != f"Bearer {script.key}":
        raise Refused(401, "Incorrect API key provided.", code="invalid_api_key")


def check_request(script: Script, asked: Asked, prompt_tokens: int) -> None:
    """Raise Refused for a model that is not there, for what the endpoint has not, and for a prompt that is too long."""
    if script.models and asked.model not in script.models:
        said = f"The model `{asked.model}` does not exist or you do not have access to it."
        raise Refused(404, said, code="model_not_found", param="model")
    _check_features(script.has, asked)
    if script.context_tokens and prompt_tokens > script.context_tokens:
        said = (
            f"This model's maximum context length is {script.context_tokens} tokens. However, your messages resulted in "
            f"{prompt_tokens} tokens. Please reduce the length of the messages."
        )
        raise Refused(400, said, code="context_length_exceeded", param="messages")


def _check_features(has: Has, asked: Asked) -> None:
    if asked.tools and not has.tools:
        raise Refused(400, "tools is not supported in this model.", param="tools")
    if asked.schema and not has.json_schema:
        said = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
        raise Refused(400, said, param="response_format")
    if asked.stream and not has.stream:
        raise Refused(400, "stream is not supported with this model.", param="stream")
    if any(message.images for message in asked.messages) and not has.images:
        raise Refused(400, "Invalid content type. image_url is not supported with this model.", param="messages")
    if asked.temperature is not None and not has.temperature:
        said = "Unsupported parameter: 'temperature' is not supported with this model."
        raise Refused(400, said, code="unsupported_parameter", param="temperature")
