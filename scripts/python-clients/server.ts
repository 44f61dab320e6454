import { StrictOpenAi } from '../../test/providers/openai.ts';
import { Gateway } from '../../test/support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  eventStream,
  images,
  PIXEL_BASE64,
  ScriptedBackend,
  streamed,
  usage,
  usageEvent,
  type RecordedCall,
} from '../../test/support/scripted-backend.ts';

/** What every chat answer of the backend claims to have used. */
export const USED = { prompt: 100, completion: 10 };
const EMBEDDED = 8;

/** In nano-dollars, by the prices below. */
export const CHARGES = {
  chat: USED.prompt * 1_000 + USED.completion * 2_000,
  embedding: EMBEDDED * 1_000,
  image: 10_000_000,
  gptImage: 20_000_000,
  partialImage: 4_000_000,
  sentImage: 3_000_000,
};

/** A Tollgate on a backend that always says the same, and two accounts. */
export async function startPythonTarget() {
  const backend = new ScriptedBackend();
  const openAi = new StrictOpenAi();
  backend.script(answer);
  const yaml = catalog(backend.baseUrl, openAi.baseUrl);
  const gateway = await Gateway.start({ yaml, env: { OPENAI_API_KEY: openAi.key } });
  const rich = await gateway.account('1');
  const poor = await gateway.account('0');
  return {
    gateway,
    backend,
    rich,
    environment: {
      TOLLGATE_URL: gateway.url,
      TOLLGATE_TOKEN: rich.token,
      POOR_TOKEN: poor.token,
      PIXEL_BASE64,
    },
    stop: async () => {
      await gateway.stop();
      await backend.stop();
      await openAi.stop();
    },
  };
}

function catalog(baseUrl: string, openAiUrl: string): string {
  return `
upstreams:
  b: { kind: openai, base_url: "${baseUrl}" }
  openai: { kind: openai, base_url: "${openAiUrl}", api_key: "\${OPENAI_API_KEY}" }
lists:
  chat_models: [{ model: m, input: 1, output: 2, context: 200000, max_output: 100000, tools: true }]
  image_models: [{ model: p, image: 0.01, sizes: [1024x1024, 512x512] }]
  gpt_image_models: [{ model: gpt-image-2, image: { 1024x1024: { low: 0.02 } }, input_image: 0.003, partial_image: 0.004, abilities: { partial_images: 3, reference_images: 16, mask: true } }]
  vector_models: [{ model: e, input: 1, output: 0, context: 8191 }]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [b] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [b] }
  gpt_images: { name: GPT images, type: image_generation, lists: [gpt_image_models], upstreams: [openai] }
  vectors: { name: vectors, type: embedding, lists: [vector_models], upstreams: [b] }
`;
}

function answer({ path, body }: RecordedCall): Response {
  if (path.endsWith('/images/generations')) return images(1);
  if (path.endsWith('/embeddings'))
    return Response.json({
      object: 'list',
      model: 'e',
      data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2, 0.3] }],
      usage: { prompt_tokens: EMBEDDED, total_tokens: EMBEDDED },
    });
  if (Array.isArray(body['tools']) && body['tools'].length > 0) return calledTool(body['stream'] === true);
  return body['stream'] === true
    ? streamed(['hello', ' there'], USED)
    : completion('hello there', usage(USED.prompt, USED.completion));
}

function calledTool(isStreamed: boolean): Response {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'weather', arguments: '{"city":"Oslo"}' },
  };
  const counted = usage(USED.prompt, USED.completion);
  if (!isStreamed) {
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    return completion('', counted, { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
  }
  const events = [
    chunk({ role: 'assistant', tool_calls: [{ index: 0, ...call }] }),
    chunk({}, 'tool_calls'),
    usageEvent(USED.prompt, USED.completion),
    DONE,
  ];
  return eventStream(events.join(''));
}
