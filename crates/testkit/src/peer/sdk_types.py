"""Holds request bodies against the request types of the services' own SDKs.

Reads a JSON list of {"service", "body"} and writes a list of lists: what is wrong with each body.
A field that a type does not have is wrong. Where a service takes more or less than its SDK's types
say, it is named here with its reason.
"""

import json
import sys
from typing import List, Optional

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

PROBLEMS_SHOWN = 8
# Responses are asked for without being stored, and then a thought has no id that could be looked up.
OPTIONAL = {("ResponseReasoningItemParam", "id")}


def strict(kind):
    """A validator of this type that looks into every list: for a mere `Iterable` pydantic would put
    that off until somebody iterates."""

    def walk(schema):
        if isinstance(schema, (list, tuple)):
            return type(schema)(walk(each) for each in schema)
        if not isinstance(schema, dict):
            return schema
        name = getattr(schema.get("cls"), "__name__", None)
        schema = {key: walk(value) for key, value in schema.items()}
        if schema.get("type") == "generator":
            schema["type"] = "list"
        for owner, field in OPTIONAL:
            if schema.get("type") == "typed-dict" and name == owner:
                schema["fields"][field]["required"] = False
        return schema

    return SchemaValidator(walk(TypeAdapter(kind).core_schema))


def openai_responses():
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return strict(ResponseCreateParamsStreaming)


def openai_chat():
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return strict(CompletionCreateParamsStreaming)


def anthropic():
    # The beta types: some fields that every newer model takes are only there.
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming

    return strict(MessageCreateParamsStreaming)


def google():
    # The SDK has no type of the whole body, only of all that is in it.
    from google.genai import types

    class GenerateContentRequest(BaseModel):
        model_config = ConfigDict(extra="forbid", val_json_bytes="base64")
        contents: List[types.Content]
        systemInstruction: Optional[types.Content] = None
        tools: Optional[List[types.Tool]] = None
        toolConfig: Optional[types.ToolConfig] = None
        generationConfig: Optional[types.GenerationConfig] = None

    return strict(GenerateContentRequest)


def mistral():
    from mistralai.client.models import ChatCompletionStreamRequest

    return strict(ChatCompletionStreamRequest)


def openrouter():
    from openrouter.components import ChatRequest

    return strict(ChatRequest)


def thinking_chat(body):
    """DeepSeek and Moonshot tell their users to take OpenAI's SDK, and have two fields more; llama.cpp
    knows the second of them."""
    thinking = body.pop("thinking", {"type": "enabled"})
    if thinking.get("type") not in ("enabled", "disabled"):
        yield f"thinking: {thinking}"
    for at, message in enumerate(body["messages"]):
        thought = message.pop("reasoning_content", "")
        if not isinstance(thought, str) or (thought and message["role"] != "assistant"):
            yield f"messages.{at}.reasoning_content: {thought!r}"


TYPES = {
    "openai": openai_responses,
    "anthropic": anthropic,
    "google": google,
    "mistral": mistral,
    "openrouter": openrouter,
    "deepseek": openai_chat,
    "moonshot": openai_chat,
    "llamacpp": openai_chat,
}
MORE = {"deepseek": thinking_chat, "moonshot": thinking_chat, "llamacpp": thinking_chat}


def told(error):
    """The errors of the alternative that was meant: of a union pydantic tells those of all."""
    errors = error.errors(include_url=False, include_context=False)
    not_meant = {
        each["loc"][:-1]
        for each in errors
        if each["loc"][-1:] in (("type",), ("role",)) and each["type"] in ("literal_error", "missing")
    }

    def meant(loc):
        return not any(loc[: len(other)] == other for other in not_meant)

    best = [each for each in errors if meant(each["loc"])] or errors
    best.sort(key=lambda each: -len(each["loc"]))
    for each in best[:PROBLEMS_SHOWN]:
        place = ".".join(str(step).split("[")[0] for step in each["loc"])
        yield f"{place}: {each['msg']}, not {str(each['input'])[:200]}"


def problems(validator, service, body):
    more = MORE.get(service)
    yield from more(body) if more else ()
    try:
        validator.validate_json(json.dumps(body), extra="forbid")
    except ValidationError as error:
        yield from told(error)


def main():
    validators, verdicts = {}, []
    for each in json.load(sys.stdin):
        service = each["service"]
        if service not in validators:
            validators[service] = TYPES[service]()
        verdicts.append(list(problems(validators[service], service, each["body"])))
    json.dump(verdicts, sys.stdout)


main()
