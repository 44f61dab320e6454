"""The package `anthropic`, unmodified, with another base URL, key and model."""

import json
import os

import anthropic

base = os.environ["TOLLGATE_URL"]
client = anthropic.Anthropic(base_url=base, api_key=os.environ["TOLLGATE_TOKEN"])
poor = anthropic.Anthropic(base_url=base, api_key=os.environ["POOR_TOKEN"])
stranger = anthropic.Anthropic(base_url=base, api_key="sk-not-a-token")
ASKED = {"model": "svc_chat/m", "max_tokens": 200, "messages": [{"role": "user", "content": "Say hello."}]}
TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def told(case, **facts):
    print(json.dumps({"case": case, **facts}), flush=True)


raw = client.messages.with_raw_response.create(**ASKED)
answer = raw.parse()
used = answer.usage.input_tokens + answer.usage.output_tokens
told("chat", request=raw.headers["x-request-id"], text=answer.content[0].text, usage=used)

with client.messages.stream(**ASKED) as stream:
    text = "".join(stream.text_stream)
    final = stream.get_final_message()
    used = final.usage.input_tokens + final.usage.output_tokens
    told("stream", request=stream.response.headers["x-request-id"], text=text, usage=used)

raw = client.messages.with_raw_response.create(**ASKED, tools=[TOOL])
call = next(block for block in raw.parse().content if block.type == "tool_use")
told("tools", request=raw.headers["x-request-id"], text=f"{call.name} {json.dumps(call.input, separators=(',', ':'))}")

count = client.messages.count_tokens(model=ASKED["model"], messages=ASKED["messages"])
told("count tokens", text=str(count.input_tokens > 0))
told("models", text=str(any(model.id == "svc_chat/m" for model in client.models.list())))


def error(case, act):
    try:
        act()
    except anthropic.APIStatusError as failure:
        told(case, error=type(failure).__name__, status=failure.status_code, text=failure.body["error"]["type"])


error("no money", lambda: poor.messages.create(**ASKED))
error("bad token", lambda: stranger.messages.create(**ASKED))
error("unknown model", lambda: client.messages.create(**{**ASKED, "model": "svc_chat/nobody"}))
error("bad field", lambda: client.messages.create(**ASKED, extra_body={"temperature": 9}))
