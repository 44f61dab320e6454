import instructor
import openai
from pydantic import BaseModel

import told


class City(BaseModel):
    city: str


class Answer(BaseModel):
    answer: str


HELLO = [{"role": "user", "content": "Say hello."}]
NAME = [{"role": "user", "content": "Name a city."}]


def client(token=told.token, **more):
    return instructor.from_openai(openai.OpenAI(base_url=f"{told.url}/v1", api_key=token), **more)


@told.feature("chat")
def _():
    answer = client().chat.completions.create(model=told.chat_model, messages=HELLO, response_model=None)
    return answer.choices[0].message.content


@told.feature("stream")
def _():
    pieces = [
        chunk.choices[0].delta.content
        for chunk in client().chat.completions.create(
            model=told.chat_model, messages=HELLO, response_model=None, stream=True
        )
        if chunk.choices and chunk.choices[0].delta.content
    ]
    return {"said": "".join(pieces), "pieces": len(pieces)}


told.absent("tools", "image", "embedding", "state")


@told.feature("structured")
def _():
    modes = [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.JSON]
    cities = {
        client(mode=mode).chat.completions.create(model=told.chat_model, messages=NAME, response_model=City).city
        for mode in modes
    }
    return " ".join(cities)


@told.feature("picture")
def _():
    content = ["What is this?", instructor.Image.from_base64(told.pixel_url)]
    answer = client().chat.completions.create(
        model=told.chat_model, messages=[{"role": "user", "content": content}], response_model=None
    )
    return answer.choices[0].message.content


told.refusals(
    lambda token: client(token).chat.completions.create(model=told.chat_model, messages=NAME, response_model=City).city
)
