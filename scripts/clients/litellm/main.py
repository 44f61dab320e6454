import base64
import json
import urllib.request

import litellm
from pydantic import BaseModel

import told

litellm.suppress_debug_info = True


class City(BaseModel):
    city: str


HELLO = [{"role": "user", "content": "Say hello."}]
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def reached(model, token=told.token):
    return {"model": f"openai/{model}", "api_base": f"{told.url}/v1", "api_key": token}


def ask(messages=HELLO, token=told.token, **more):
    return litellm.completion(**reached(told.chat_model, token), messages=messages, **more).choices[0].message


@told.feature("chat")
def _():
    return ask().content


@told.feature("stream")
def _():
    stream = litellm.completion(**reached(told.chat_model), messages=HELLO, stream=True)
    pieces = [chunk.choices[0].delta.content for chunk in stream if chunk.choices[0].delta.content]
    return {"said": "".join(pieces), "pieces": len(pieces)}


@told.feature("tools")
def _():
    messages = []
    for question in ["How is the weather in Oslo?", "And now?"]:
        messages.append({"role": "user", "content": question})
        answer = ask(messages, tools=[TOOL])
        while answer.tool_calls:
            messages.append(answer)
            for call in answer.tool_calls:
                result = told.weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            answer = ask(messages, tools=[TOOL])
        messages.append(answer)
    return {"said": answer.content, "calls": told.tool_runs}


@told.feature("structured")
def _():
    answer = ask([{"role": "user", "content": "Name a city."}], response_format=City)
    return City.model_validate_json(answer.content).city


@told.feature("picture")
def _():
    picture = {"type": "image_url", "image_url": {"url": told.pixel_url}}
    return ask([{"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}]).content


def bytes_of(picture):
    if picture.b64_json:
        return base64.b64decode(picture.b64_json)
    return urllib.request.urlopen(picture.url).read()


@told.feature("image")
def _():
    made = litellm.image_generation(**reached(told.image_model), prompt="a gate", size="512x512")
    return bytes_of(made.data[0])[1:4].decode()


@told.feature("embedding")
def _():
    return str(len(litellm.embedding(**reached(told.embedding_model), input=["hello"]).data[0]["embedding"]))


@told.feature("state")
def _():
    def respond(question, **more):
        return litellm.responses(**reached(told.memory_model), input=question, **more)

    first = respond("Remember this.")
    return respond("What did I say?", previous_response_id=first.id).output[0].content[0].text


told.refusals(lambda token: ask(token=token).content)
