import { REASONING_NAMES } from './openai-wire.ts';
import { argumentsText, OPENAI_DIALECTS, STREAMED, type BillClass } from './classes.ts';
import { CHAT_DIALECTS, STREAM_STAGES } from './plan.ts';

/** Streams whose client leaves at every stage. */
export const LEFT: readonly BillClass[] = [
  {
    name: 'text',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    waitsFor: 'R2',
    make: (random) => ({ model: random.pick(['plain', 'uneven', 'claude']) }),
  },
  {
    name: 'long input',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    waitsFor: 'R2',
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { prompt: random.prose(random.integer(2_000, 20_000)) },
    }),
  },
  {
    name: 'tool call',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    waitsFor: 'R2',
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { withTools: true },
      answer: { kind: 'tool call', text: argumentsText(random) },
    }),
  },
  {
    name: 'refusal',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    waitsFor: 'R2',
    make: (random) => ({ model: random.pick(['plain', 'claude']), answer: { kind: 'refusal' } }),
  },
  {
    name: 'transcript of audio',
    verdict: 'left',
    dialects: OPENAI_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    waitsFor: 'R2',
    make: () => ({ model: 'plain', answer: { kind: 'transcript' } }),
  },
  {
    name: 'reasoning that can be read',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    waitsFor: 'R2',
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: {
        reasoning: { name: random.pick(REASONING_NAMES), text: random.prose(random.integer(50, 300)) },
      },
    }),
  },
];
