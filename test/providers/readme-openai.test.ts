import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { WHOLE_ANSWER } from './model-reply.ts';
import { StrictOpenAi } from './openai.ts';
import type { BilledCall } from './stand-in.ts';

/** README's own example of a backend, word for word but for the address, against a provider as strict as the real one. */

interface Example {
  readonly lists: {
    readonly partner_models: readonly { input: number; cached_input: number; output: number }[];
    readonly partner_images: readonly { image: Record<string, number> }[];
  };
}

let provider: StrictOpenAi;
let gateway: Gateway;
let example: Example;

beforeAll(async () => {
  provider = new StrictOpenAi();
  const readme = await Bun.file(join(import.meta.dir, '../../README.md')).text();
  const block = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const yaml = block.replace('https://api.openai.com/v1', provider.baseUrl);
  expect(yaml).not.toBe(block);
  // Inside braces a reference is Tollgate's own YAML; another reader needs a plain word there.
  example = parse(yaml.replaceAll(/\$\{\w+\}/g, 'reference')) as Example;
  const env = { OPENAI_API_KEY: provider.key, ANTHROPIC_API_KEY: 'sk-ant-never-used' };
  gateway = await Gateway.start({ yaml, env });
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
});

const PROMPT = 'How do holds work?';
const LONG_PROMPT = 'How do holds work? '.repeat(600);

type Json = Record<string, unknown>;

interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly body: Json;
  /** The names this dialect has for the output cap; `undefined` where it may be left out. */
  readonly caps: readonly (string | undefined)[];
  /** The text of a whole answer, and of one event of a stream. */
  whole(answer: Json): string;
  piece(event: Json): string | undefined;
}

const chatFields = { messages: [{ role: 'user', content: PROMPT }] };
const chatTexts = {
  caps: [undefined, 'max_tokens', 'max_completion_tokens'],
  whole: (answer: Json) =>
    (answer as { choices: [{ message: { content: string } }] }).choices[0].message.content,
  piece: (event: Json) => (event as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content,
};

const DIALECTS: readonly Dialect[] = [
  {
    name: 'the public API',
    path: '/api/public/v1/chat/completions',
    body: { endpoint: 'partner_chat', model: 'gpt-5-mini', ...chatFields },
    ...chatTexts,
  },
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    body: { model: 'partner_chat/gpt-5-mini', ...chatFields },
    ...chatTexts,
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: { model: 'partner_chat/gpt-5-mini', ...chatFields },
    caps: ['max_tokens'],
    whole: (answer) => (answer as { content: { text: string }[] }).content.map(({ text }) => text).join(''),
    piece: (event) => (event as { delta?: { text?: string } }).delta?.text,
  },
  {
    name: 'responses',
    path: '/v1/responses',
    body: { model: 'partner_chat/gpt-5-mini', input: PROMPT },
    caps: [undefined, 'max_output_tokens'],
    whole: (answer) =>
      (answer as { output: { content?: { text: string }[] }[] }).output
        .flatMap(({ content }) => content ?? [])
        .map(({ text }) => text)
        .join(''),
    piece: (event) => {
      const { type, delta } = event as { type: string; delta: string };
      return type === 'response.output_text.delta' ? delta : undefined;
    },
  },
];

/** Clients that cannot be told of endpoints ask by the model's bare name. */
const BARE = DIALECTS.slice(1).map((dialect) => ({
  ...dialect,
  name: `${dialect.name} by the bare name`,
  body: { ...dialect.body, model: 'gpt-5-mini' },
}));

const CASES = [...DIALECTS, ...BARE].flatMap((dialect) =>
  dialect.caps.flatMap((cap) =>
    [false, true].map((stream) => ({
      label: `${dialect.name}, ${stream ? 'streamed' : 'whole'}, ${cap ?? 'no cap'}`,
      dialect,
      cap,
      stream,
    })),
  ),
);

describe('a chat with the model of the example', () => {
  test.each(CASES)('$label: is answered and charged as billed', async ({ dialect, cap, stream }) => {
    const account = await gateway.account('1');
    const billed = provider.invoice.length;
    const body = { ...dialect.body, stream, ...(cap === undefined ? {} : { [cap]: 200 }) };
    const response = await gateway.post(dialect.path, account.token, body);
    expect({ status: response.status, error: response.ok ? '' : await response.clone().text() }).toEqual({
      status: 200,
      error: '',
    });
    const text = stream
      ? events(await response.text())
          .map((event) => dialect.piece(event) ?? '')
          .join('')
      : dialect.whole((await response.json()) as Json);
    expect(text).toBe(WHOLE_ANSWER);
    const sent = provider.received.at(-1)?.body ?? {};
    expect(sent['max_completion_tokens']).toBe(cap === undefined ? 16_384 : 200);
    expect(sent).not.toHaveProperty('max_tokens');
    expect('stream_options' in sent).toBe(stream);
    expect(await charged(account)).toEqual(provider.invoice.slice(billed).map(costOf));
  });

  test('reasoning and cached input are charged as billed', async () => {
    const account = await gateway.account('1');
    const messages = [{ role: 'user', content: LONG_PROMPT }];
    for (const stream of [false, true]) {
      const body = { model: 'partner_chat/gpt-5-mini', messages, stream };
      await (await gateway.post('/v1/chat/completions', account.token, body)).text();
    }
    const bills = provider.invoice.slice(-2);
    for (const bill of bills) expect(bill).toMatchObject({ cached: 1024, reasoning: 48 });
    expect(await charged(account)).toEqual(bills.map(costOf));
  });

  test('a cap that leaves no room for text ends the answer by length, charged as billed', async () => {
    const account = await gateway.account('1');
    const response = await gateway.post('/v1/chat/completions', account.token, {
      model: 'partner_chat/gpt-5-mini',
      ...chatFields,
      max_tokens: 20,
    });
    expect(await response.json()).toMatchObject({ choices: [{ finish_reason: 'length' }] });
    expect(provider.invoice.at(-1)).toMatchObject({ output: 20, reasoning: 20 });
    expect(await charged(account)).toEqual(provider.invoice.slice(-1).map(costOf));
  });

  test('an invalid request is refused with the provider’s message, and costs nothing', async () => {
    const account = await gateway.account('1');
    const response = await gateway.post('/v1/chat/completions', account.token, {
      model: 'partner_chat/gpt-5-mini',
      ...chatFields,
      temperature: 0.2,
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("'temperature' does not support 0.2 with this model");
    await gateway.settled(account);
    expect((await gateway.money(account)).balance).toBe(1_000_000_000 as never);
  });
});

const IMAGE_PATHS = [
  {
    path: '/api/public/v1/images/generations',
    fields: { endpoint_code: 'partner_images', model: 'gpt-image-1-mini' },
    usual: 'url',
  },
  // Its clients expect base64, which is all that this model gives at OpenAI.
  {
    path: '/v1/images/generations',
    fields: { model: 'partner_images/gpt-image-1-mini' },
    usual: 'b64_json',
  },
  { path: '/v1/images/generations', fields: { model: 'gpt-image-1-mini' }, usual: 'b64_json' },
];
const IMAGE_CASES = IMAGE_PATHS.flatMap(({ usual, ...way }) =>
  ['url', 'b64_json', 'neither'].map((format) => ({
    ...way,
    format,
    expected: format === 'neither' ? usual : format,
  })),
);

describe('images with the model of the example', () => {
  test.each(IMAGE_CASES)(
    '$path, $fields.model, as $format: arrive and are charged as billed',
    async ({ path, fields, format, expected }) => {
      const account = await gateway.account('1');
      const billed = provider.invoice.length;
      const body = {
        ...fields,
        prompt: 'a gate',
        n: 2,
        size: '1536x1024',
        ...(format === 'neither' ? {} : { response_format: format }),
      };
      await expectPictures(await gateway.post(path, account.token, body), 2, expected);
      expect(provider.received.at(-1)?.body).not.toHaveProperty('response_format');
      expect(await charged(account)).toEqual(provider.invoice.slice(billed).map(costOf));
    },
  );

  test.each(['url', 'b64_json'])('an edit as %s: arrives and is charged as billed', async (format) => {
    const account = await gateway.account('1');
    const form = new FormData();
    const fields = {
      model: 'partner_images/gpt-image-1-mini',
      prompt: 'add a bird',
      response_format: format,
    };
    for (const [key, value] of Object.entries(fields)) form.set(key, value);
    form.set('image', new Blob([Buffer.from(PIXEL_BASE64, 'base64')], { type: 'image/png' }), 'gate.png');
    const init = { method: 'POST', body: form, token: account.token };
    await expectPictures(await gateway.fetch('/v1/images/edits', init), 1, format);
    expect(provider.received.at(-1)).toMatchObject({ path: '/v1/images/edits', refusal: undefined });
    expect(await charged(account)).toEqual(provider.invoice.slice(-1).map(costOf));
  });

  afterAll(async () => expect((await gateway.verify()).breaches).toEqual([]));
});

async function expectPictures(response: Response, count: number, format: string): Promise<void> {
  const answer = (await response.json()) as { data?: { url?: string; b64_json?: string }[] };
  expect({ status: response.status, answer }).toMatchObject({ status: 200 });
  expect(answer.data).toHaveLength(count);
  for (const { url, b64_json } of answer.data ?? []) {
    if (format === 'b64_json') expect(b64_json).toBe(PIXEL_BASE64);
    else
      expect(Buffer.from(await (await fetch(url ?? '')).arrayBuffer()).toString('base64')).toBe(PIXEL_BASE64);
  }
}

/** The JSON of a stream's events, in any dialect. */
function events(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Json);
}

async function charged(account: TestAccount): Promise<number[]> {
  await gateway.settled(account);
  return (await gateway.requests(account)).map((row) => row.charged);
}

/** The provider's invoice at the example's prices, in nano-dollars: here a token costs a whole number of them. */
function costOf(bill: BilledCall): number {
  const nano = (usd: number) => Math.round(usd * 1_000_000_000);
  if (bill.kind === 'images')
    return bill.images * nano(example.lists.partner_images[0]?.image[bill.size] ?? 0);
  const [price] = example.lists.partner_models;
  const perToken = (usdPerMillion = 0) => nano(usdPerMillion) / 1_000_000;
  return (
    (bill.input - bill.cached) * perToken(price?.input) +
    bill.cached * perToken(price?.cached_input) +
    bill.output * perToken(price?.output)
  );
}
