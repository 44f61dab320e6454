"""Imports every module of a generated client, and calls operations that other clients stumbled over."""

import importlib
import os
import pkgutil
import sys

name = sys.argv[1]
package = importlib.import_module(name)
modules = [module.name for module in pkgutil.walk_packages(package.__path__, f"{name}.")]
for module in modules:
    importlib.import_module(module)

models = importlib.import_module(f"{name}.models")
client = package.AuthenticatedClient(
    base_url=os.environ["TOLLGATE_URL"], token=os.environ["TOLLGATE_TOKEN"], raise_on_unexpected_status=True
)


def call(group, operation, *path, **given):
    return importlib.import_module(f"{name}.api.{group}.{operation}").sync(*path, client=client, **given)


chat = models.ChatRequest.from_dict(
    {"endpoint": "svc_chat", "model": "house-echo", "messages": [{"role": "user", "content": "hello"}]}
)
quote = call("inference", "create_quote", body=chat)
assert isinstance(quote, models.Quote), quote
assert float(quote.max_cost_usd) > 0

image = models.ImageRequest.from_dict(
    {"endpoint": "svc_tgter", "model": "house-paint", "prompt": "a gate", "size": "256x256"}
)
assert isinstance(call("inference", "create_quote", body=image), models.Quote)

answer = call("inference", "create_chat_completion", body=chat)
assert answer.choices[0].message.content == "hello", answer

counted = call(
    "gemini_compatible",
    "v_1_beta_count_tokens",
    "svc_chat/house-echo",
    body=models.CountGeminiContents.from_dict({"contents": [{"parts": [{"text": "hello"}]}]}),
)
assert counted.total_tokens > 0, counted

listed = call("open_ai_compatible", "v_1_list_models")
assert any(model.id == "svc_chat/house-echo" for model in listed.data)

refused = call(
    "inference", "create_chat_completion", body=models.ChatRequest.from_dict({**chat.to_dict(), "model": "nobody"})
)
assert isinstance(refused, models.Error) and refused.error.code == "unsupported_model", refused

print(f"{len(modules)} modules imported, 6 calls as expected")
