import { StrictAnthropic } from '../../test/providers/anthropic.ts';
import { StrictGemini } from '../../test/providers/gemini.ts';
import { StrictOpenAi } from '../../test/providers/openai.ts';
import { RecordingProxy } from '../../test/clients/recording-proxy.ts';
import { Gateway, type TestAccount } from '../../test/support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  openStream,
  PIXEL_BASE64,
  ScriptedBackend,
  streamed,
  usage,
  usageEvent,
  type RecordedCall,
} from '../../test/support/scripted-backend.ts';

/** A Tollgate in front of the built-in backend, of stand-ins that refuse what providers refuse, and of a scripted one. */
export interface ClientTarget {
  /** What one client needs: a port of its own that records what it sends, accounts of its own. */
  admit(): Promise<AdmittedClient>;
  /** What the books say at the end; empty where they balance. */
  stop(): Promise<readonly string[]>;
}

export interface AdmittedClient {
  readonly environment: Record<string, string>;
  /** What a token's requests were answered with, and when. */
  answersTo(token: string): readonly TimedAnswer[];
  leave(): Promise<void>;
}

interface TimedAnswer {
  readonly status: number;
  readonly atMs: number;
  /** How long the client was told to wait. */
  readonly retryAfterMs: number | undefined;
}

export async function startClientTarget(): Promise<ClientTarget> {
  const backend = new ScriptedBackend();
  backend.script(scripted);
  const [openAi, anthropic, gemini] = [new StrictOpenAi(), new StrictAnthropic(), new StrictGemini()];
  const gateway = await Gateway.start({
    yaml: catalog({
      scripted: backend.baseUrl,
      openAi: openAi.baseUrl,
      anthropic: anthropic.baseUrl,
      gemini: gemini.baseUrl,
    }),
    env: { PROVIDER_KEY: openAi.key },
  });
  const accounts: TestAccount[] = [];
  return {
    admit: async () => {
      const rich = await gateway.account('5');
      accounts.push(rich);
      return await admit(gateway, rich);
    },
    async stop() {
      for (const account of accounts) await gateway.settled(account);
      const { breaches } = await gateway.verify();
      await gateway.stop();
      for (const server of [backend, openAi, anthropic, gemini]) await server.stop();
      return breaches.map((breach) => JSON.stringify(breach));
    },
  };
}

const BAD_TOKEN = 'sk-not-a-token';

async function admit(gateway: Gateway, rich: TestAccount): Promise<AdmittedClient> {
  const poor = await gateway.account('0');
  const busy = await gateway.account('5', { concurrent: 1 });
  const proxy = new RecordingProxy(gateway.url);
  const finish = await occupy(gateway, busy);
  const free = proxy.saw(429).then(finish);
  return {
    environment: {
      TOLLGATE_URL: proxy.url,
      TOLLGATE_TOKEN: rich.token,
      POOR_TOKEN: poor.token,
      BUSY_TOKEN: busy.token,
      BAD_TOKEN,
      CHAT_MODEL: 'gpt-4o-mini',
      CLAUDE_MODEL: 'claude-sonnet-4-5',
      GEMINI_MODEL: 'gemini-2.5-flash',
      MEMORY_MODEL: 'memory',
      IMAGE_MODEL: 'house-paint',
      EMBEDDING_MODEL: 'text-embedding-3-small',
      PIXEL_BASE64,
    },
    answersTo: (token) =>
      proxy.exchanges
        .filter(({ headers, search }) => `${[...headers.values()].join(' ')} ${search}`.includes(token))
        .map(({ status, atMs, retryAfterMs }) => ({ status, atMs, retryAfterMs })),
    async leave() {
      await Promise.race([free, finish()]);
      await proxy.stop();
    },
  };
}

/** Takes the account's only place, until it is told to give it back. */
async function occupy(gateway: Gateway, { token }: TestAccount): Promise<() => Promise<void>> {
  const messages = [{ role: 'user', content: 'Take your time.' }];
  const response = await gateway.post('/v1/chat/completions', token, {
    model: 'waiting',
    stream: true,
    messages,
  });
  if (response.status !== 200) throw new Error(`the busy account got ${response.status}`);
  const waiting = waitingStreams.shift();
  if (!waiting) throw new Error('the backend was not called');
  let ending: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    waiting.send(chunk({}, 'stop') + usageEvent(3, 2) + DONE);
    waiting.end();
    await response.text();
  };
  return () => (ending ??= end());
}

const waitingStreams: ReturnType<typeof openStream>[] = [];

function scripted({ path, body }: RecordedCall): Response {
  if (path.endsWith('/embeddings')) return embeddings(body);
  if (body['model'] === 'waiting') {
    const stream = openStream();
    stream.send(chunk({ role: 'assistant', content: 'Still here.' }));
    waitingStreams.push(stream);
    return stream.response;
  }
  const { length } = body['messages'] as unknown[];
  const text = `I was told ${length} messages.`;
  return body['stream'] === true
    ? streamed(text.split(/(?= )/), { prompt: 9, completion: 5 })
    : completion(text, usage(9, 5));
}

/** As OpenAI: numbers, or their bytes in base64 where the client asked for it. */
function embeddings({ input, encoding_format }: Record<string, unknown>): Response {
  const vector = [0.25, 0.5, 0.75];
  const base64 = Buffer.from(new Float32Array(vector).buffer).toString('base64');
  const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1;
  return Response.json({
    object: 'list',
    model: 'text-embedding-3-small',
    data: Array.from({ length: count }, (_, index) => ({
      object: 'embedding',
      index,
      embedding: encoding_format === 'base64' ? base64 : vector,
    })),
    usage: { prompt_tokens: 4, total_tokens: 4 },
  });
}

function catalog(urls: Record<'scripted' | 'openAi' | 'anthropic' | 'gemini', string>): string {
  const chat = 'input: 1, output: 2, context: 200000, tools: true, vision: true';
  return `
upstreams:
  house: { kind: house }
  scripted: { kind: openai, base_url: "${urls.scripted}", timeouts: { first_byte_ms: 60000, idle_ms: 600000, total_ms: 600000 } }
  openai: { kind: openai, base_url: "${urls.openAi}", api_key: "\${PROVIDER_KEY}" }
  anthropic: { kind: anthropic, base_url: "${urls.anthropic}", api_key: "\${PROVIDER_KEY}" }
  gemini: { kind: google, base_url: "${urls.gemini}", api_key: "\${PROVIDER_KEY}" }
lists:
  gpt: [{ model: gpt-4o-mini, ${chat}, max_output: 16384 }]
  claude: [{ model: claude-sonnet-4-5, ${chat}, max_output: 64000 }]
  gemini: [{ model: gemini-2.5-flash, ${chat}, max_output: 65536 }]
  scripted: [{ model: memory, ${chat}, max_output: 16384 }, { model: waiting, ${chat}, max_output: 16384 }]
  paint: [{ model: house-paint, image: 0.01, sizes: [1024x1024, 512x512, 256x256] }]
  vectors: [{ model: text-embedding-3-small, input: 1, output: 0, context: 8191 }]
endpoints:
  gpt: { name: GPT, type: chat_completion, lists: [gpt], upstreams: [openai] }
  claude: { name: Claude, type: chat_completion, lists: [claude], upstreams: [anthropic] }
  gemini: { name: Gemini, type: chat_completion, lists: [gemini], upstreams: [gemini] }
  scripted: { name: scripted, type: chat_completion, lists: [scripted], upstreams: [scripted] }
  paint: { name: paint, type: image_generation, lists: [paint], upstreams: [house] }
  vectors: { name: vectors, type: embedding, lists: [vectors], upstreams: [scripted] }
`;
}
