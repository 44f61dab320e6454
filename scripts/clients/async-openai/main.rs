//! The crate `async-openai`: each request is one of its types, and each answer is read into one of its types.

use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{ChatCompletionResponseMessage, CreateChatCompletionRequest};
use async_openai::types::embeddings::CreateEmbeddingRequest;
use async_openai::types::images::{CreateImageRequest, Image};
use async_openai::types::responses::CreateResponse;
use async_openai::Client;
use base64::prelude::{Engine, BASE64_STANDARD};
use futures::StreamExt;
use serde_json::{json, Value};
use std::env::var;

type Told = Result<Value, OpenAIError>;

fn setting(name: &str) -> String {
    var(name).unwrap_or_default()
}

fn client(token: &str) -> Client<OpenAIConfig> {
    let base = format!("{}/v1", setting("TOLLGATE_URL"));
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key(token))
}

fn own() -> Client<OpenAIConfig> {
    client(&setting("TOLLGATE_TOKEN"))
}

fn request(mut body: Value) -> CreateChatCompletionRequest {
    body["model"] = json!(setting("CHAT_MODEL"));
    serde_json::from_value(body).expect("a request of this crate")
}

fn hello() -> Value {
    json!({ "messages": [{ "role": "user", "content": "Say hello." }] })
}

fn city_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false
    })
}

async fn ask(token: &str, body: Value) -> Result<ChatCompletionResponseMessage, OpenAIError> {
    let answer = client(token).chat().create(request(body)).await?;
    Ok(answer.choices.into_iter().next().expect("a choice").message)
}

async fn chat(token: &str) -> Told {
    Ok(json!({ "said": ask(token, hello()).await?.content }))
}

async fn stream() -> Told {
    let mut events = own().chat().create_stream(request(hello())).await?;
    let (mut text, mut pieces) = (String::new(), 0);
    while let Some(event) = events.next().await {
        for choice in event?.choices {
            if let Some(piece) = choice.delta.content.filter(|piece| !piece.is_empty()) {
                text += &piece;
                pieces += 1;
            }
        }
    }
    Ok(json!({ "said": text, "pieces": pieces }))
}

async fn tools() -> Told {
    let function = json!({
        "name": "weather", "description": "The weather of a city.", "parameters": city_schema()
    });
    let offered = json!([{ "type": "function", "function": function }]);
    let (mut messages, mut text, mut calls) = (Vec::new(), None, 0);
    for question in ["How is the weather in Oslo?", "And now?"] {
        messages.push(json!({ "role": "user", "content": question }));
        loop {
            let body = json!({ "messages": messages, "tools": offered });
            let message = ask(&setting("TOLLGATE_TOKEN"), body).await?;
            let sent = serde_json::to_value(&message).expect("a message");
            messages.push(sent.clone());
            let Some(asked) = sent["tool_calls"].as_array().filter(|asked| !asked.is_empty()) else {
                text = message.content;
                break;
            };
            for call in asked {
                calls += 1;
                messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "Rain." }));
            }
        }
    }
    Ok(json!({ "said": text, "calls": calls }))
}

async fn structured() -> Told {
    let schema = json!({ "name": "city", "strict": true, "schema": city_schema() });
    let body = json!({
        "messages": [{ "role": "user", "content": "Name a city." }],
        "response_format": { "type": "json_schema", "json_schema": schema }
    });
    let text = ask(&setting("TOLLGATE_TOKEN"), body).await?.content.unwrap_or_default();
    let named: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(json!({ "said": named["city"] }))
}

async fn picture() -> Told {
    let url = format!("data:image/png;base64,{}", setting("PIXEL_BASE64"));
    let content = json!([
        { "type": "text", "text": "What is this?" },
        { "type": "image_url", "image_url": { "url": url } }
    ]);
    let body = json!({ "messages": [{ "role": "user", "content": content }] });
    Ok(json!({ "said": ask(&setting("TOLLGATE_TOKEN"), body).await?.content }))
}

async fn image() -> Told {
    let asked: CreateImageRequest = serde_json::from_value(json!({
        "model": setting("IMAGE_MODEL"), "prompt": "a gate", "size": "512x512", "response_format": "b64_json"
    }))
    .expect("a request of this crate");
    let made = own().images().generate(asked).await?;
    let Some(Image::B64Json { b64_json, .. }) = made.data.first().map(AsRef::as_ref) else {
        return Ok(json!({ "said": "no picture" }));
    };
    let bytes = BASE64_STANDARD.decode(b64_json.as_bytes()).unwrap_or_default();
    Ok(json!({ "said": String::from_utf8_lossy(&bytes[1..4]) }))
}

async fn embedding() -> Told {
    let asked: CreateEmbeddingRequest =
        serde_json::from_value(json!({ "model": setting("EMBEDDING_MODEL"), "input": "hello" }))
            .expect("a request of this crate");
    let made = own().embeddings().create(asked).await?;
    Ok(json!({ "said": made.data[0].embedding.len().to_string() }))
}

async fn state() -> Told {
    let ask = |body: Value| serde_json::from_value::<CreateResponse>(body).expect("a request of this crate");
    let model = setting("MEMORY_MODEL");
    let first = own().responses().create(ask(json!({ "model": model, "input": "Remember this." }))).await?;
    let body = json!({ "model": model, "input": "What did I say?", "previous_response_id": first.id });
    Ok(json!({ "said": own().responses().create(ask(body)).await?.output_text() }))
}

fn tell(feature: &str, told: Told) {
    let facts = told.unwrap_or_else(|error| json!({ "error": "OpenAIError", "text": error.to_string() }));
    let line = facts.to_string();
    // The feature goes first, so that the line is known by its beginning.
    println!("{{\"feature\":\"{feature}\",{}", &line[1..]);
}

#[tokio::main]
async fn main() {
    tell("chat", chat(&setting("TOLLGATE_TOKEN")).await);
    tell("stream", stream().await);
    tell("tools", tools().await);
    tell("structured", structured().await);
    tell("picture", picture().await);
    tell("image", image().await);
    tell("embedding", embedding().await);
    tell("state", state().await);
    for (feature, token) in [("401", "BAD_TOKEN"), ("402", "POOR_TOKEN"), ("429", "BUSY_TOKEN")] {
        tell(feature, chat(&setting(token)).await);
    }
}
