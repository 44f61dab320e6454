from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings
from pydantic import BaseModel

import told


class City(BaseModel):
    city: str


def model(token=told.token):
    return ChatGoogleGenerativeAI(base_url=told.url, api_key=token, model=told.gemini_model)


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


told.absent("image", "state")


@told.feature("embedding")
def _():
    vectors = GoogleGenerativeAIEmbeddings(base_url=told.url, api_key=told.token, model=told.embedding_model)
    return str(len(vectors.embed_query("hello")))


told.refusals(lambda token: model(token).invoke("Say hello.").text)
