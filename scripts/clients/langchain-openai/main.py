from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

import told


class City(BaseModel):
    city: str


def model(token=told.token, name=told.chat_model, **more):
    return ChatOpenAI(base_url=f"{told.url}/v1", api_key=token, model=name, **more)


@told.feature("chat")
def _():
    return model().invoke("Say hello.").text


@told.feature("stream")
def _():
    pieces = [piece.text for piece in model().stream("Say hello.") if piece.text]
    return {"said": "".join(pieces), "pieces": len(pieces)}


@told.feature("tools")
def _():
    offered = model().bind_tools([tool(told.weather)])
    messages = []
    for question in ["How is the weather in Oslo?", "And now?"]:
        messages.append(HumanMessage(question))
        answer = offered.invoke(messages)
        while answer.tool_calls:
            results = [
                ToolMessage(told.weather(**call["args"]), tool_call_id=call["id"]) for call in answer.tool_calls
            ]
            messages += [answer, *results]
            answer = offered.invoke(messages)
        messages.append(answer)
    return {"said": answer.text, "calls": told.tool_runs}


@told.feature("structured")
def _():
    return model().with_structured_output(City).invoke("Name a city.").city


@told.feature("picture")
def _():
    picture = {"type": "image", "base64": told.pixel, "mime_type": "image/png"}
    content = [{"type": "text", "text": "What is this?"}, picture]
    return model().invoke([HumanMessage(content)]).text


told.absent("image")


@told.feature("embedding")
def _():
    # By default it sends numbers of tokens of OpenAI's vocabulary, which it would have to download.
    vectors = OpenAIEmbeddings(
        base_url=f"{told.url}/v1", api_key=told.token, model=told.embedding_model, check_embedding_ctx_length=False
    )
    return str(len(vectors.embed_query("hello")))


@told.feature("state")
def _():
    remembering = model(name=told.memory_model, use_responses_api=True, use_previous_response_id=True)
    question = HumanMessage("Remember this.")
    first = remembering.invoke([question])
    return remembering.invoke([question, first, HumanMessage("What did I say?")]).text


told.refusals(lambda token: model(token).invoke("Say hello.").text)
