"""What every program of a Python client tells: one line of JSON for each feature."""

import asyncio
import inspect
import json
import os

url = os.environ["TOLLGATE_URL"]
token = os.environ["TOLLGATE_TOKEN"]
tokens = {"401": os.environ["BAD_TOKEN"], "402": os.environ["POOR_TOKEN"], "429": os.environ["BUSY_TOKEN"]}
chat_model = os.environ["CHAT_MODEL"]
claude_model = os.environ["CLAUDE_MODEL"]
gemini_model = os.environ["GEMINI_MODEL"]
memory_model = os.environ["MEMORY_MODEL"]
image_model = os.environ["IMAGE_MODEL"]
embedding_model = os.environ["EMBEDDING_MODEL"]
pixel = os.environ["PIXEL_BASE64"]
pixel_url = f"data:image/png;base64,{pixel}"

tool_runs = 0


def weather(city: str) -> str:
    """The weather of a city."""
    global tool_runs
    tool_runs += 1
    return f"Rain in {city}."


def tell(feature, **facts):
    print(json.dumps({"feature": feature, **facts}), flush=True)


def feature(name):
    """Runs what is decorated, and tells what it returns or throws."""

    def run(act):
        try:
            result = act()
            facts = asyncio.run(result) if inspect.isawaitable(result) else result
            tell(name, **(facts if isinstance(facts, dict) else {"said": facts}))
        except Exception as failure:
            tell(name, error=type(failure).__name__, text=str(failure)[:500])

    return run


def absent(*names):
    for name in names:
        tell(name, absent=True)


def refusals(ask):
    """`ask` sends one question with the given token."""
    for name, given in tokens.items():
        feature(name)(lambda given=given: ask(given))
