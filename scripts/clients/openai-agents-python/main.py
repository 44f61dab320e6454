from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

import told

set_tracing_disabled(True)


class City(BaseModel):
    city: str


def client(token=told.token):
    return AsyncOpenAI(base_url=f"{told.url}/v1", api_key=token)


def agent(token=told.token, name=told.chat_model, kind=OpenAIResponsesModel, **more):
    return Agent(name="helper", model=kind(model=name, openai_client=client(token)), **more)


@told.feature("chat")
async def _():
    on_chat = await Runner.run(agent(kind=OpenAIChatCompletionsModel), "Say hello.")
    on_responses = await Runner.run(agent(), "Say hello.")
    return on_responses.final_output if on_chat.final_output == on_responses.final_output else on_chat.final_output


@told.feature("stream")
async def _():
    run = Runner.run_streamed(agent(), "Say hello.")
    pieces = [
        event.data.delta
        async for event in run.stream_events()
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
    ]
    return {"said": "".join(pieces), "pieces": len(pieces)}


@told.feature("tools")
async def _():
    # The conversation is kept by the gateway; each turn sends only what is new.
    session = OpenAIConversationsSession(openai_client=client())
    helper = agent(tools=[function_tool(told.weather)])
    await Runner.run(helper, "How is the weather in Oslo?", session=session)
    second = await Runner.run(helper, "And now?", session=session)
    return {"said": second.final_output, "calls": told.tool_runs}


@told.feature("structured")
async def _():
    return (await Runner.run(agent(output_type=City), "Name a city.")).final_output.city


@told.feature("picture")
async def _():
    content = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": told.pixel_url, "detail": "auto"},
    ]
    return (await Runner.run(agent(), [{"role": "user", "content": content}])).final_output


told.absent("image", "embedding")


@told.feature("state")
async def _():
    remembering = agent(name=told.memory_model)
    first = await Runner.run(remembering, "Remember this.")
    by_answer = await Runner.run(remembering, "What did I say?", previous_response_id=first.last_response_id)
    session = OpenAIConversationsSession(openai_client=client())
    await Runner.run(remembering, "Remember this.", session=session)
    by_session = await Runner.run(remembering, "What did I say?", session=session)
    same = by_answer.final_output == by_session.final_output
    return by_session.final_output if same else f"{by_answer.final_output} {by_session.final_output}"


async def ask(token):
    return (await Runner.run(agent(token), "Say hello.")).final_output


told.refusals(ask)
