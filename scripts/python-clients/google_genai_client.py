"""The package `google-genai`, unmodified, with another base URL, key and model."""

import json
import os

from google import genai
from google.genai import errors, types

base = os.environ["TOLLGATE_URL"]
MODEL = "svc_chat/m"
WEATHER = types.FunctionDeclaration(
    name="weather",
    description="The weather of a city.",
    parameters_json_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def client_with(key):
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=base, api_version="v1beta"))


def told(case, **facts):
    print(json.dumps({"case": case, **facts}), flush=True)


client = client_with(os.environ["TOLLGATE_TOKEN"])
poor = client_with(os.environ["POOR_TOKEN"])
stranger = client_with("sk-not-a-token")
answer = client.models.generate_content(model=MODEL, contents="Say hello.")
told("chat", request=answer.response_id, text=answer.text, usage=answer.usage_metadata.total_token_count)

text, total, request = "", None, None
for piece in client.models.generate_content_stream(model=MODEL, contents="Say hello."):
    text += piece.text or ""
    request = piece.response_id or request
    total = piece.usage_metadata.total_token_count if piece.usage_metadata else total
told("stream", request=request, text=text, usage=total)

config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[WEATHER])])
answer = client.models.generate_content(model=MODEL, contents="Say hello.", config=config)
call = answer.function_calls[0]
told("tools", request=answer.response_id, text=f"{call.name} {json.dumps(call.args, separators=(',', ':'))}")

count = client.models.count_tokens(model=MODEL, contents="Say hello.")
told("count tokens", text=str(count.total_tokens > 0))
told("models", text=str(any(model.name == f"models/{MODEL}" for model in client.models.list())))


def error(case, act):
    try:
        act()
    except errors.APIError as failure:
        told(case, error=type(failure).__name__, status=failure.code, text=failure.status)


error("no money", lambda: poor.models.generate_content(model=MODEL, contents="Hi."))
error("bad token", lambda: stranger.models.generate_content(model=MODEL, contents="Hi."))
error("unknown model", lambda: client.models.generate_content(model="svc_chat/nobody", contents="Hi."))
hot = types.GenerateContentConfig(temperature=9)
error("bad field", lambda: client.models.generate_content(model=MODEL, contents="Hi.", config=hot))
