import { REASONING_NAMES } from './openai-wire.ts';
import { argumentsText, BOTH, NEVER, OPENAI_DIALECTS, STREAMED, type BillClass } from './classes.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { CHAT_DIALECTS, STREAM_STAGES, WHOLE_STAGES } from './plan.ts';

/** A picture of one pixel, and a document that says nothing; the backend bills what the plan says. */
const PICTURE = PIXEL_BASE64;
const DOCUMENT = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');

/** Fields of other servers with which more could be had for the price of an ordinary request. */
const DROPPED_FIELDS: readonly (readonly [string, unknown])[] = [
  ['n_predict', 100_000],
  ['max_new_tokens', 100_000],
  ['options', { num_predict: 100_000 }],
  ['min_tokens', 10_000],
  ['best_of', 8],
  ['models', ['dearer']],
  ['plugins', [{ id: 'web' }]],
];

/** What a client reads to its end, and what no client can stop: the charge is the invoice. */
export const FINISHED: readonly BillClass[] = [
  {
    name: 'text',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({ model: random.pick(['plain', 'uneven', 'claude']) }),
  },
  {
    name: 'text with a system message and tools',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'uneven', 'claude']),
      ask: { system: random.prose(random.integer(1, 300)), withTools: true, maxTokens: 2_000 },
    }),
  },
  {
    name: 'tool call',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { withTools: true },
      answer: { kind: 'tool call', text: argumentsText(random) },
    }),
  },
  {
    name: 'refusal',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({ model: random.pick(['plain', 'claude']), answer: { kind: 'refusal' } }),
  },
  {
    name: 'transcript of audio',
    verdict: 'exact',
    dialects: OPENAI_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: () => ({ model: 'plain', answer: { kind: 'transcript' } }),
  },
  {
    name: 'reasoning that can be read',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: {
        reasoning: { name: random.pick(REASONING_NAMES), text: random.prose(random.integer(5, 200)) },
      },
    }),
  },
  {
    name: 'hidden reasoning',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { hiddenTokens: random.integer(1, 12_000) },
    }),
  },
  {
    name: 'several choices',
    verdict: 'exact',
    dialects: OPENAI_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({ model: 'plain', ask: { choices: random.integer(2, 5) } }),
  },
  {
    name: 'logprobs',
    verdict: 'exact',
    dialects: OPENAI_DIALECTS,
    forms: STREAMED,
    stages: NEVER,
    make: () => ({
      model: 'plain',
      ask: { more: { logprobs: true, top_logprobs: 20 } },
      answer: { logprobs: true },
    }),
  },
  {
    name: 'input from a cache',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'uneven', 'claude']),
      answer: { cachedPercent: random.integer(1, 100) },
    }),
  },
  {
    name: 'answer cut at max_tokens',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { maxTokens: random.integer(1, 100) },
    }),
  },
  {
    name: 'answer in slow phases',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { pauseMs: random.integer(20, 300) },
    }),
  },
  {
    name: 'busy at first',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: () => ({ model: 'plain', answer: { failure: { at: 'before headers', how: 'busy' } } }),
  },
  {
    name: 'free model',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: ['never', ...STREAM_STAGES, 'in mid body'],
    make: () => ({ model: 'free-of-charge' }),
  },
  {
    name: 'embeddings of text',
    verdict: 'exact',
    dialects: ['embeddings'],
    forms: ['whole'],
    stages: ['never', 'before headers'],
    make: () => ({ model: 'vectors' }),
  },
  {
    name: 'embeddings of tokens',
    verdict: 'exact',
    dialects: ['embeddings'],
    forms: ['whole'],
    stages: ['never', 'before headers'],
    make: (random) => ({ model: 'vectors', ask: { tokenInput: random.integer(1, 3_000) } }),
  },
  {
    name: 'images by size',
    verdict: 'exact',
    dialects: ['public images', 'v1 images'],
    forms: ['whole'],
    stages: ['never', 'before headers'],
    make: (random) => ({
      model: 'painter',
      ask: {
        images: { count: random.integer(1, 4), size: random.pick(['1024x1024', '512x512', '256x256']) },
      },
    }),
  },
  {
    name: 'whole answer, client leaves',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: ['whole'],
    stages: WHOLE_STAGES,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { hiddenTokens: random.integer(0, 5_000) },
    }),
  },
  {
    name: 'usage of zero',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R2'],
    make: (random) => ({ model: random.pick(['plain', 'claude']), answer: { usage: 'zero' } }),
  },
  {
    name: 'usage in the first event only',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: NEVER,
    needs: ['R2'],
    make: () => ({ model: 'plain', answer: { usage: 'early' } }),
  },
  {
    name: 'usage in the first event only, Messages',
    verdict: 'exact',
    dialects: ['messages'],
    forms: STREAMED,
    stages: NEVER,
    needs: ['R2'],
    make: () => ({ model: 'claude', answer: { usage: 'early' } }),
  },
  {
    name: 'usage that is absurd',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R2'],
    make: (random) => ({ model: random.pick(['plain', 'claude']), answer: { usage: 'absurd' } }),
  },
  {
    name: 'no usage',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R2'],
    make: () => ({ model: 'plain', answer: { usage: 'none' } }),
  },
  {
    name: 'no usage, Messages',
    verdict: 'exact',
    dialects: ['messages'],
    forms: BOTH,
    stages: NEVER,
    needs: ['R2'],
    make: () => ({ model: 'claude', answer: { usage: 'none' } }),
  },
  {
    name: 'hidden reasoning, client leaves',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R3'],
    make: (random) => ({ model: 'thinker', answer: { hiddenTokens: random.integer(1_000, 12_000) } }),
  },
  {
    name: 'on_disconnect: finish, client leaves',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R3'],
    make: (random) => ({ model: random.pick(['finisher', 'claude-finisher']) }),
  },
  {
    name: 'with an Idempotency-Key, client leaves',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R3'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { idempotencyKey: `key-${random.integer(0, 1e9)}` },
    }),
  },
  {
    name: 'hostile text',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R4'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { prompt: random.hostile(random.integer(2_000, 20_000)), maxTokens: 400 },
    }),
  },
  {
    name: 'small balance',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({ model: 'plain', ask: { prompt: random.prose(50) }, balance: '0.002' }),
  },
  {
    name: 'pictures and files',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R5'],
    make: (random) => ({
      model: random.pick(['seer', 'claude-seer']),
      ask: {
        attachments: [
          { kind: 'image', tokens: random.integer(85, 765), data: PICTURE },
          ...(random.next() < 0.5
            ? [{ kind: 'file' as const, tokens: random.integer(100, 40_000), data: DOCUMENT }]
            : []),
        ],
      },
    }),
  },
  {
    name: 'fields that cost and have no price',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R6'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { unknown: Object.fromEntries(random.shuffled(DROPPED_FIELDS).slice(0, 3)) },
    }),
  },
];
