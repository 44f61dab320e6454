import base64

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, Embedder
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

import told


class City(BaseModel):
    city: str


def provider(token=told.token):
    return OpenAIProvider(base_url=f"{told.url}/v1", api_key=token)


def agent(token=told.token, **more):
    return Agent(OpenAIChatModel(told.chat_model, provider=provider(token)), **more)


@told.feature("chat")
async def _():
    return (await agent().run("Say hello.")).output


@told.feature("stream")
async def _():
    async with agent().run_stream("Say hello.") as answer:
        pieces = [piece async for piece in answer.stream_text(delta=True, debounce_by=None)]
    return {"said": "".join(pieces), "pieces": len(pieces)}


@told.feature("tools")
async def _():
    helper = agent(tools=[told.weather])
    first = await helper.run("How is the weather in Oslo?")
    second = await helper.run("And now?", message_history=first.all_messages())
    return {"said": second.output, "calls": told.tool_runs}


@told.feature("structured")
async def _():
    return (await agent(output_type=City).run("Name a city.")).output.city


@told.feature("picture")
async def _():
    picture = BinaryContent(data=base64.b64decode(told.pixel), media_type="image/png")
    return (await agent().run(["What is this?", picture])).output


told.absent("image")


@told.feature("embedding")
async def _():
    embedder = Embedder(OpenAIEmbeddingModel(told.embedding_model, provider=provider()))
    return str(len((await embedder.embed_query("hello")).embeddings[0]))


@told.feature("state")
async def _():
    remembering = Agent(
        OpenAIResponsesModel(told.memory_model, provider=provider()),
        model_settings={"openai_previous_response_id": "auto"},
    )
    first = await remembering.run("Remember this.")
    return (await remembering.run("What did I say?", message_history=first.all_messages())).output


async def ask(token):
    return (await agent(token).run("Say hello.")).output


told.refusals(ask)
