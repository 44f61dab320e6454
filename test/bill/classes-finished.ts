import { REASONING_NAMES } from './openai-wire.ts';
import { pictureAndFile } from './attached.ts';
import {
  argumentsText,
  finished,
  OPENAI_DIALECTS,
  plainOrClaude,
  STREAMED,
  type BillClass,
  unreadContent,
} from './classes.ts';
import { STREAM_STAGES, WHOLE_STAGES } from './plan.ts';

/** What a client reads to its end, and what no client can stop: the charge is the invoice. */
export const FINISHED: readonly BillClass[] = [
  finished('text', (random) => ({ model: random.pick(['plain', 'uneven', 'claude']) })),
  finished('text with a system message and tools', (random) => ({
    model: random.pick(['plain', 'uneven', 'claude']),
    ask: { system: random.prose(random.integer(1, 300)), withTools: true, maxTokens: 2_000 },
  })),
  finished('tool call', (random) => ({
    model: plainOrClaude(random),
    ask: { withTools: true },
    answer: { kind: 'tool call', text: argumentsText(random) },
  })),
  finished('refusal', (random) => ({ model: plainOrClaude(random), answer: { kind: 'refusal' } })),
  finished('transcript of audio', () => ({ model: 'plain', answer: { kind: 'transcript' } }), {
    dialects: OPENAI_DIALECTS,
  }),
  finished('reasoning that can be read', (random) => ({
    model: plainOrClaude(random),
    answer: {
      reasoning: { name: random.pick(REASONING_NAMES), text: random.prose(random.integer(5, 200)) },
    },
  })),
  finished('hidden reasoning', (random) => ({
    model: plainOrClaude(random),
    answer: { hiddenTokens: random.integer(1, 12_000) },
  })),
  finished('several choices', (random) => ({ model: 'plain', ask: { choices: random.integer(2, 5) } }), {
    dialects: OPENAI_DIALECTS,
  }),
  finished(
    'logprobs',
    () => ({
      model: 'plain',
      ask: { more: { logprobs: true, top_logprobs: 20 } },
      answer: { logprobs: true },
    }),
    { dialects: OPENAI_DIALECTS, forms: STREAMED },
  ),
  finished('input from a cache', (random) => ({
    model: random.pick(['plain', 'uneven', 'claude']),
    answer: { inputPercents: { cached_input: random.integer(1, 100) } },
  })),
  finished('answer cut at max_tokens', (random) => ({
    model: plainOrClaude(random),
    ask: { maxTokens: random.integer(1, 100) },
  })),
  finished('answer in slow phases', (random) => ({
    model: plainOrClaude(random),
    answer: { pauseMs: random.integer(20, 300) },
  })),
  finished('busy at first', () => ({
    model: 'plain',
    answer: { failure: { at: 'before headers', how: 'busy' } },
  })),
  finished('free model', () => ({ model: 'free-of-charge' }), {
    stages: ['never', ...STREAM_STAGES, 'in mid body'],
  }),
  finished('embeddings of text', () => ({ model: 'vectors' }), {
    dialects: ['embeddings'],
    forms: ['whole'],
    stages: ['never', 'before headers'],
  }),
  finished(
    'embeddings of tokens',
    (random) => ({ model: 'vectors', ask: { tokenInput: random.integer(1, 3_000) } }),
    { dialects: ['embeddings'], forms: ['whole'], stages: ['never', 'before headers'] },
  ),
  finished(
    'images by size',
    (random) => ({
      model: 'painter',
      ask: {
        images: { count: random.integer(1, 4), size: random.pick(['1024x1024', '512x512', '256x256']) },
      },
    }),
    { dialects: ['public images', 'v1 images'], forms: ['whole'], stages: ['never', 'before headers'] },
  ),
  finished(
    'whole answer, client leaves',
    (random) => ({
      model: plainOrClaude(random),
      answer: { hiddenTokens: random.integer(0, 5_000) },
    }),
    { forms: ['whole'], stages: WHOLE_STAGES },
  ),
  finished('usage of zero', (random) => ({ model: plainOrClaude(random), answer: { usage: 'zero' } })),
  finished('usage in the first event only', () => ({ model: 'plain', answer: { usage: 'early' } }), {
    forms: STREAMED,
  }),
  finished(
    'usage in the first event only, Messages',
    () => ({ model: 'claude', answer: { usage: 'early' } }),
    { dialects: ['messages'], forms: STREAMED },
  ),
  finished('usage that is absurd', (random) => ({
    model: plainOrClaude(random),
    answer: { usage: 'absurd' },
  })),
  finished('no usage', () => ({ model: 'plain', answer: { usage: 'none' } })),
  finished('no usage, Messages', () => ({ model: 'claude', answer: { usage: 'none' } }), {
    dialects: ['messages'],
  }),
  finished(
    'hidden reasoning, client leaves',
    (random) => ({
      model: 'thinker',
      ask: { maxTokens: 16_000 },
      answer: { hiddenTokens: random.integer(1_000, 12_000) },
    }),
    { forms: STREAMED, stages: STREAM_STAGES },
  ),
  finished(
    'on_disconnect: finish, client leaves',
    (random) => ({ model: random.pick(['finisher', 'claude-finisher']) }),
    { forms: STREAMED, stages: STREAM_STAGES },
  ),
  finished(
    'with an Idempotency-Key, client leaves',
    (random) => ({
      model: plainOrClaude(random),
      ask: { idempotencyKey: `key-${random.integer(0, 1e9)}` },
    }),
    { forms: STREAMED, stages: STREAM_STAGES },
  ),
  finished('hostile text', (random) => ({
    model: plainOrClaude(random),
    ask: { prompt: random.hostile(random.integer(2_000, 20_000)), maxTokens: 400 },
  })),
  finished('small balance', (random) => ({
    model: 'plain',
    ask: { prompt: random.prose(50) },
    balance: '0.002',
  })),
  finished('pictures and files', (random) => pictureAndFile(random, ['seer', 'claude-seer'])),
  finished('pictures without a declared bound', (random) => pictureAndFile(random, ['plain', 'claude'])),
  finished(
    'whole answer about pictures and files, client leaves',
    (random) => pictureAndFile(random, ['seer', 'claude-seer']),
    { forms: ['whole'], stages: WHOLE_STAGES },
  ),
  finished('client reads nothing for a while', unreadContent, { dialects: OPENAI_DIALECTS, forms: STREAMED }),
  finished('fields that nobody knows', (random) => ({
    model: plainOrClaude(random),
    ask: { unknown: { brand_new_field: random.integer(0, 9), deeper: { effort: 'dearest' } } },
  })),
];
