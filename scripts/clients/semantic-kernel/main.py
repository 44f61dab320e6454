import base64

from openai import AsyncOpenAI
from pydantic import BaseModel
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread, OpenAIResponsesAgent
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIChatCompletion,
    OpenAIChatPromptExecutionSettings,
    OpenAITextEmbedding,
    OpenAITextToImage,
)
from semantic_kernel.contents import ChatHistory, ChatMessageContent, ImageContent, TextContent
from semantic_kernel.functions import kernel_function

import told


class City(BaseModel):
    city: str


def client(token=told.token):
    return AsyncOpenAI(base_url=f"{told.url}/v1", api_key=token)


def service(token=told.token):
    return OpenAIChatCompletion(ai_model_id=told.chat_model, async_client=client(token))


def history(question="Say hello."):
    chat = ChatHistory()
    chat.add_user_message(question)
    return chat


@told.feature("chat")
async def _():
    return str(await service().get_chat_message_content(history(), OpenAIChatPromptExecutionSettings()))


@told.feature("stream")
async def _():
    stream = service().get_streaming_chat_message_content(history(), OpenAIChatPromptExecutionSettings())
    pieces = [str(piece) async for piece in stream if str(piece)]
    return {"said": "".join(pieces), "pieces": len(pieces)}


class Weather:
    @kernel_function(name="weather", description="The weather of a city.")
    def weather(self, city: str) -> str:
        return told.weather(city)


@told.feature("tools")
async def _():
    agent = ChatCompletionAgent(
        service=service(), plugins=[Weather()], function_choice_behavior=FunctionChoiceBehavior.Auto()
    )
    thread = ChatHistoryAgentThread()
    await agent.get_response("How is the weather in Oslo?", thread=thread)
    second = await agent.get_response("And now?", thread=thread)
    return {"said": str(second), "calls": told.tool_runs}


@told.feature("structured")
async def _():
    settings = OpenAIChatPromptExecutionSettings(response_format=City)
    answer = await service().get_chat_message_content(history("Name a city."), settings)
    return City.model_validate_json(str(answer)).city


@told.feature("picture")
async def _():
    picture = ImageContent(data=base64.b64decode(told.pixel), data_format="base64", mime_type="image/png")
    message = ChatMessageContent(role="user", items=[TextContent(text="What is this?"), picture])
    chat = ChatHistory(messages=[message])
    return str(await service().get_chat_message_content(chat, OpenAIChatPromptExecutionSettings()))


@told.feature("image")
async def _():
    painter = OpenAITextToImage(ai_model_id=told.image_model, async_client=client())
    made = await painter.generate_image("a gate", 512, 512)
    return base64.b64decode(made)[1:4].decode()


@told.feature("embedding")
async def _():
    vectors = OpenAITextEmbedding(ai_model_id=told.embedding_model, async_client=client())
    return str(len((await vectors.generate_embeddings(["hello"]))[0]))


@told.feature("state")
async def _():
    agent = OpenAIResponsesAgent(ai_model_id=told.memory_model, client=client(), kernel=Kernel())
    first = await agent.get_response("Remember this.")
    return str(await agent.get_response("What did I say?", thread=first.thread))


async def ask(token):
    return str(await service(token).get_chat_message_content(history(), OpenAIChatPromptExecutionSettings()))


told.refusals(ask)
