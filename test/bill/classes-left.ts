import { REASONING_NAMES } from './openai-wire.ts';
import { argumentsText, OPENAI_DIALECTS, STREAMED, type BillClass } from './classes.ts';
import { CHAT_DIALECTS, STREAM_STAGES } from './plan.ts';

/** The stages at which the backend has sent its first event. */
const AFTER_INPUT = STREAM_STAGES.filter((stage) => !['before headers', 'at headers'].includes(stage));

/** Streams whose client leaves at every stage. */
export const LEFT: readonly BillClass[] = [
  {
    name: 'text',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R2'],
    make: (random) => ({ model: random.pick(['plain', 'uneven', 'claude']) }),
  },
  {
    name: 'long input',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R2'],
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
    needs: ['R2'],
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
    needs: ['R2'],
    make: (random) => ({ model: random.pick(['plain', 'claude']), answer: { kind: 'refusal' } }),
  },
  {
    name: 'transcript of audio',
    verdict: 'left',
    dialects: OPENAI_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R2'],
    make: () => ({ model: 'plain', answer: { kind: 'transcript' } }),
  },
  {
    name: 'reasoning that can be read',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R2'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: {
        reasoning: { name: random.pick(REASONING_NAMES), text: random.prose(random.integer(50, 300)) },
      },
    }),
  },
  {
    name: 'input from a cache, with some of it written there',
    verdict: 'left',
    dialects: ['messages'],
    forms: STREAMED,
    stages: AFTER_INPUT,
    needs: ['R2', 'R7'],
    make: (random) => ({
      model: 'claude',
      ask: { prompt: random.prose(random.integer(1_000, 3_000)), cacheFor: random.pick(['5m', '1h']) },
      answer: { cachedPercent: random.integer(0, 40), writtenPercent: random.integer(10, 60) },
    }),
  },
  {
    name: 'no usage',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R2'],
    make: () => ({ model: 'plain', answer: { usage: 'none' } }),
  },
  {
    name: 'no usage, Messages',
    verdict: 'left',
    dialects: ['messages'],
    forms: STREAMED,
    stages: STREAM_STAGES,
    needs: ['R2'],
    make: () => ({ model: 'claude', answer: { usage: 'none' } }),
  },
  {
    name: 'usage in the first event only',
    verdict: 'left',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: AFTER_INPUT,
    needs: ['R2'],
    make: () => ({ model: 'plain', answer: { usage: 'early' } }),
  },
  {
    name: 'usage in the first event only, Messages',
    verdict: 'left',
    dialects: ['messages'],
    forms: STREAMED,
    stages: AFTER_INPUT,
    needs: ['R2'],
    make: () => ({ model: 'claude', answer: { usage: 'early' } }),
  },
];
