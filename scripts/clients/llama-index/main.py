import base64

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.workflow import Context
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI, OpenAIResponses
from pydantic import BaseModel

import told


class City(BaseModel):
    city: str


HELLO = [ChatMessage("Say hello.")]


def model(token=told.token):
    return OpenAI(model=told.chat_model, api_base=f"{told.url}/v1", api_key=token)


@told.feature("chat")
def _():
    return model().chat(HELLO).message.content


@told.feature("stream")
def _():
    pieces = [piece.delta for piece in model().stream_chat(HELLO) if piece.delta]
    return {"said": "".join(pieces), "pieces": len(pieces)}


@told.feature("tools")
async def _():
    agent = FunctionAgent(tools=[told.weather], llm=model())
    context = Context(agent)
    await agent.run("How is the weather in Oslo?", ctx=context)
    second = await agent.run("And now?", ctx=context)
    return {"said": second.response.content, "calls": told.tool_runs}


@told.feature("structured")
def _():
    return model().as_structured_llm(City).chat([ChatMessage("Name a city.")]).raw.city


@told.feature("picture")
def _():
    blocks = [TextBlock(text="What is this?"), ImageBlock(image=base64.b64decode(told.pixel))]
    return model().chat([ChatMessage(role="user", blocks=blocks)]).message.content


told.absent("image")


@told.feature("embedding")
def _():
    vectors = OpenAIEmbedding(api_base=f"{told.url}/v1", api_key=told.token, model_name=told.embedding_model)
    return str(len(vectors.get_text_embedding("hello")))


@told.feature("state")
def _():
    # It knows models by their names, and their context by that.
    remembering = OpenAIResponses(
        model="gpt-4o-mini",
        api_base=f"{told.url}/v1",
        api_key=told.token,
        track_previous_responses=True,
        additional_kwargs={"model": told.memory_model},
    )
    remembering.chat([ChatMessage("Remember this.")])
    return remembering.chat([ChatMessage("What did I say?")]).message.content


told.refusals(lambda token: model(token).chat(HELLO).message.content)
