"""The package `openai`, unmodified, with another base URL, key and model."""

import base64
import json
import os

import openai

base = os.environ["TOLLGATE_URL"]
client = openai.OpenAI(base_url=f"{base}/v1", api_key=os.environ["TOLLGATE_TOKEN"])
poor = openai.OpenAI(base_url=f"{base}/v1", api_key=os.environ["POOR_TOKEN"])
stranger = openai.OpenAI(base_url=f"{base}/v1", api_key="sk-not-a-token")
MODEL = "svc_chat/m"
HELLO = [{"role": "user", "content": "Say hello."}]
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def told(case, **facts):
    print(json.dumps({"case": case, **facts}), flush=True)


raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=HELLO)
answer = raw.parse()
told("chat", request=raw.headers["x-request-id"], text=answer.choices[0].message.content, usage=answer.usage.total_tokens)

with client.chat.completions.with_streaming_response.create(
    model=MODEL, messages=HELLO, stream=True, stream_options={"include_usage": True}
) as response:
    text, total = "", None
    for chunk in response.parse():
        text += chunk.choices[0].delta.content or "" if chunk.choices else ""
        total = chunk.usage.total_tokens if chunk.usage else total
    told("stream", request=response.headers["x-request-id"], text=text, usage=total)

raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=HELLO, tools=[TOOL])
call = raw.parse().choices[0].message.tool_calls[0]
told("tools", request=raw.headers["x-request-id"], text=f"{call.function.name} {call.function.arguments}")

raw = client.responses.with_raw_response.create(model=MODEL, input="Say hello.")
told("responses", request=raw.headers["x-request-id"], text=raw.parse().output_text)

raw = client.embeddings.with_raw_response.create(model="vectors/e", input="hello", encoding_format="float")
told("embeddings", request=raw.headers["x-request-id"], text=str(len(raw.parse().data[0].embedding)))

raw = client.images.with_raw_response.generate(
    model="svc_tgter/p", prompt="a gate", size="512x512", response_format="b64_json"
)
picture = base64.b64decode(raw.parse().data[0].b64_json)
told("image", request=raw.headers["x-request-id"], text=picture[1:4].decode())

GPT_IMAGE = {"model": "gpt-image-2", "prompt": "a gate", "size": "1024x1024", "quality": "low"}
PIXEL = base64.b64decode(os.environ["PIXEL_BASE64"])


def kind(encoded):
    return base64.b64decode(encoded)[1:4].decode()


raw = client.images.with_raw_response.generate(**GPT_IMAGE, n=2)
made = raw.parse()
told(
    "gpt-image",
    request=raw.headers["x-request-id"],
    text=" ".join(kind(image.b64_json) for image in made.data),
    usage=made.usage.total_tokens,
)

with client.images.with_streaming_response.generate(**GPT_IMAGE, stream=True, partial_images=2) as response:
    seen = [(event.type, kind(event.b64_json)) for event in response.parse()]
    text = " ".join(f"{name} {picture}" for name, picture in seen)
    told("image stream", request=response.headers["x-request-id"], text=text)

raw = client.images.with_raw_response.edit(
    **GPT_IMAGE, image=[("a.png", PIXEL, "image/png"), ("b.png", PIXEL, "image/png")]
)
told("image edit", request=raw.headers["x-request-id"], text=kind(raw.parse().data[0].b64_json))

with client.images.with_streaming_response.edit(
    **GPT_IMAGE, image=("a.png", PIXEL, "image/png"), mask=("m.png", PIXEL, "image/png"), stream=True, partial_images=1
) as response:
    seen = [(event.type, kind(event.b64_json)) for event in response.parse()]
    text = " ".join(f"{name} {picture}" for name, picture in seen)
    told("image edit stream", request=response.headers["x-request-id"], text=text)

told("models", text=str(any(model.id == MODEL for model in client.models.list())))


def error(case, act):
    try:
        act()
    except openai.APIStatusError as failure:
        told(case, error=type(failure).__name__, status=failure.status_code, text=str(failure.code))


error("no money", lambda: poor.chat.completions.create(model=MODEL, messages=HELLO))
error("bad token", lambda: stranger.chat.completions.create(model=MODEL, messages=HELLO))
error("unknown model", lambda: client.chat.completions.create(model="svc_chat/nobody", messages=HELLO))
error("bad field", lambda: client.chat.completions.create(model=MODEL, messages=HELLO, temperature=9))
