import base64

from haystack.components.agents import Agent
from haystack.components.embedders import OpenAITextEmbedder
from haystack.components.generators import OpenAIImageGenerator
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from pydantic import BaseModel

import told


class City(BaseModel):
    city: str


HELLO = [ChatMessage.from_user("Say hello.")]


def reached(token=told.token):
    return {"api_key": Secret.from_token(token), "api_base_url": f"{told.url}/v1"}


def generator(token=told.token, **more):
    return OpenAIChatGenerator(model=told.chat_model, **reached(token), **more)


def answer(made):
    return made["replies"][0].text


@told.feature("chat")
def _():
    return answer(generator().run(HELLO))


@told.feature("stream")
def _():
    pieces = []
    said = answer(generator(streaming_callback=lambda piece: piece.content and pieces.append(piece.content)).run(HELLO))
    return {"said": said, "pieces": len(pieces)}


@told.feature("tools")
def _():
    agent = Agent(chat_generator=generator(), tools=[create_tool_from_function(told.weather)])
    first = agent.run(messages=[ChatMessage.from_user("How is the weather in Oslo?")])
    second = agent.run(messages=[*first["messages"], ChatMessage.from_user("And now?")])
    return {"said": second["messages"][-1].text, "calls": told.tool_runs}


@told.feature("structured")
def _():
    made = generator(generation_kwargs={"response_format": City}).run([ChatMessage.from_user("Name a city.")])
    return City.model_validate_json(answer(made)).city


@told.feature("picture")
def _():
    picture = ImageContent(base64_image=told.pixel, mime_type="image/png")
    return answer(generator().run([ChatMessage.from_user(content_parts=["What is this?", picture])]))


@told.feature("image")
def _():
    painter = OpenAIImageGenerator(model=told.image_model, size="512x512", response_format="b64_json", **reached())
    return base64.b64decode(painter.run("a gate")["images"][0])[1:4].decode()


@told.feature("embedding")
def _():
    embedder = OpenAITextEmbedder(model=told.embedding_model, **reached())
    return str(len(embedder.run("hello")["embedding"]))


@told.feature("state")
def _():
    def ask(question, **more):
        remembering = OpenAIResponsesChatGenerator(model=told.memory_model, generation_kwargs=more, **reached())
        return remembering.run([ChatMessage.from_user(question)])

    first = ask("Remember this.")["replies"][0]
    return answer(ask("What did I say?", previous_response_id=first.meta["id"]))


told.refusals(lambda token: answer(generator(token).run(HELLO)))
