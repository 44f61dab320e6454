/** Keys of the operator, as the gateway's environment holds them. */
export const ENV = {
  OPENAI_KEY: 'key-of-the-operator-0123456789',
  AWS_ID: 'AKIDEXAMPLE',
  AWS_SECRET: 'secret-of-the-operator-0123456789',
};

export type CatalogName = 'main' | 'proxied' | 'unmoderated';

/** The catalog of the corpus. Every backend is the same scripted server; the path says which of them was meant. */
export const CATALOGS: Readonly<Record<CatalogName, (backend: string) => string>> = {
  main,
  unmoderated: (backend) => main(backend).replace(/^ {2}judges:.*\n/m, ''),
  proxied: (backend) => `${main(backend)}\ntrusted_proxies: [127.0.0.1]\n`,
};

function main(backend: string): string {
  const key = 'api_key: "${OPENAI_KEY}"';
  return `
upstreams:
  openai: { kind: openai, base_url: "${backend}/openai/v1", ${key}, headers: { x-team: golden } }
  plain: { kind: openai, base_url: "${backend}/plain/v1", options: { stream_usage: false, cap_field: max_completion_tokens, image_format: default, image_path: /plain/pictures/ } }
  first: { kind: openai, base_url: "${backend}/first/v1", ${key} }
  second: { kind: openai, base_url: "${backend}/second/v1", ${key} }
  anthropic: { kind: anthropic, base_url: "${backend}/anthropic/v1", ${key} }
  google: { kind: google, base_url: "${backend}/google/v1beta", ${key} }
  mistral: { kind: mistral, base_url: "${backend}/mistral/v1", ${key} }
  cohere: { kind: cohere, base_url: "${backend}/cohere/v2", ${key} }
  azure: { kind: azure, base_url: "${backend}/azure/openai", ${key} }
  bedrock: { kind: bedrock, base_url: "${backend}/bedrock", ${key}, options: { region: eu-west-1 } }
  signed: { kind: bedrock, base_url: "${backend}/signed", options: { region: eu-west-1, access_key_id: "\${AWS_ID}", secret_access_key: "\${AWS_SECRET}" } }
  house: { kind: house }
lists:
  chat_models:
    - { model: m, display_name: Model M, input: 1, cached_input: 0.25, output: 2, context: 200000, max_output: 4096, vision: true, tools: true, reasoning: true }
    - { model: small, display_name: Small, input: 1, output: 2, context: 64, max_output: 32 }
    - { model: free, display_name: Free, free: true, upstream_models: { openai: backend/free } }
  spare_models:
    - { model: spare, display_name: Spare, input: 1, output: 2, upstream_models: { second: spare-at-second } }
  plain_models: [ { model: plain, display_name: Plain, input: 1, output: 2 } ]
  image_models:
    - { model: p, display_name: Painter, image: 0.01, sizes: [1024x1024, 512x512] }
    - { model: wide, display_name: Wide, image: { default: 0.01, 1792x1024: 0.02 }, sizes: [1024x1024, 1792x1024] }
  plain_image_models: [ { model: plain-p, display_name: Plain painter, image: 0.01, sizes: [1024x1024] } ]
  embedding_models: [ { model: e, display_name: Embedder, input: 0.02, output: 0, context: 8191 } ]
  judge_models: [ { model: judge, display_name: Judge, free: true, upstream_models: { openai: omni-moderation-latest } } ]
  house_models:
    - { model: house-guide, display_name: House Guide, input: 0.10, output: 0.40 }
    - { model: house-echo, display_name: House Echo, input: 0.05, output: 0.20, tools: true }
  house_images: [ { model: house-paint, display_name: House Paint, image: 0.01, sizes: [256x256] } ]
  anthropic_models: [ { model: claude-sonnet-4-5, display_name: Claude, input: 3, cached_input: 0.3, output: 15, context: 200000, max_output: 64000, reasoning: true } ]
  google_models: [ { model: gemini-2.5-flash, display_name: Gemini, input: 0.3, cached_input: 0.03, output: 2.5, reasoning: true } ]
  mistral_models: [ { model: mistral-large-latest, display_name: Mistral, input: 2, output: 6, reasoning: true } ]
  cohere_models: [ { model: command-a-03-2025, display_name: Command, input: 2.5, output: 10, reasoning: true } ]
  azure_models: [ { model: gpt-4.1, display_name: GPT, input: 2, cached_input: 0.5, output: 8, reasoning: true } ]
  bedrock_models: [ { model: "anthropic.claude-sonnet-4-20250514-v1:0", display_name: Claude at Bedrock, input: 3, output: 15, reasoning: true } ]
  google_images: [ { model: gemini-2.5-flash-image, display_name: Gemini images, image: 0.04, sizes: [1024x1024] } ]
  azure_images: [ { model: gpt-image-1, display_name: GPT images, image: 0.04, sizes: [1024x1024] } ]
  bedrock_images: [ { model: "amazon.nova-canvas-v1:0", display_name: Nova, image: 0.04, sizes: [1024x1024] } ]
endpoints:
  svc_chat: { name: primary chat, type: chat_completion, lists: [chat_models], upstreams: [openai] }
  spare_chat: { name: chat with a spare, type: chat_completion, lists: [spare_models], upstreams: [first, second] }
  plain_chat: { name: plain chat, type: chat_completion, lists: [plain_models], upstreams: [plain] }
  house_chat: { name: house chat, type: chat_completion, lists: [house_models], upstreams: [house] }
  svc_tgter: { name: image generation, type: image_generation, lists: [image_models], upstreams: [openai] }
  plain_image: { name: plain images, type: image_generation, lists: [plain_image_models], upstreams: [plain] }
  house_image: { name: house images, type: image_generation, lists: [house_images], upstreams: [house] }
  embeddings: { name: embeddings, type: embedding, lists: [embedding_models], upstreams: [openai] }
  judges: { name: judges, type: moderation, lists: [judge_models], upstreams: [openai] }
  house_embeddings: { name: no embeddings, type: embedding, lists: [embedding_models], upstreams: [house] }
  anthropic: { name: anthropic, type: chat_completion, lists: [anthropic_models], upstreams: [anthropic] }
  google: { name: google, type: chat_completion, lists: [google_models], upstreams: [google] }
  mistral: { name: mistral, type: chat_completion, lists: [mistral_models], upstreams: [mistral] }
  cohere: { name: cohere, type: chat_completion, lists: [cohere_models], upstreams: [cohere] }
  azure: { name: azure, type: chat_completion, lists: [azure_models], upstreams: [azure] }
  bedrock: { name: bedrock, type: chat_completion, lists: [bedrock_models], upstreams: [bedrock] }
  signed: { name: bedrock with a signature, type: chat_completion, lists: [bedrock_models], upstreams: [signed] }
  google_image: { name: google images, type: image_generation, lists: [google_images], upstreams: [google] }
  azure_image: { name: azure images, type: image_generation, lists: [azure_images], upstreams: [azure] }
  bedrock_image: { name: bedrock images, type: image_generation, lists: [bedrock_images], upstreams: [bedrock] }
  off: { name: switched off, type: chat_completion, lists: [plain_models], unavailable: Back on Monday. }
aliases: { fast: svc_chat/m, house-guide: house_chat/house-guide }
limits: { chat_per_minute: 600, images_per_minute: 60, concurrent: 50 }
`;
}
