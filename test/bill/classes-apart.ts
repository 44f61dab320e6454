import { answerText, BOTH, NEVER, STREAMED, type BillClass } from './classes.ts';
import { CHAT_DIALECTS } from './plan.ts';

/** What the provider bills beyond what a request may cost, or for answers that never came: the operator's loss, booked as such. */
export const APART: readonly BillClass[] = [
  {
    name: 'backend ignores the cap',
    verdict: 'apart',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      ask: { prompt: random.prose(5), maxTokens: random.integer(1, 20) },
      answer: { ignoresCap: true, text: answerText(random, 300) },
    }),
  },
  {
    name: 'backend resets before its headers',
    verdict: 'apart',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R8'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { failure: { at: 'before headers', how: random.pick(['reset', 'close']) } },
    }),
  },
  {
    name: 'backend resets in mid text',
    verdict: 'apart',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: NEVER,
    needs: ['R2', 'R8'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { failure: { at: 'in mid text', how: random.pick(['reset', 'close']) } },
    }),
  },
  {
    name: 'backend resets after its usage',
    verdict: 'apart',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: NEVER,
    needs: ['R8'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { failure: { at: 'after usage', how: random.pick(['reset', 'close']) } },
    }),
  },
  {
    name: 'backend breaks off in a whole answer',
    verdict: 'apart',
    dialects: CHAT_DIALECTS,
    forms: ['whole'],
    stages: NEVER,
    needs: ['R8'],
    make: (random) => ({
      model: random.pick(['plain', 'claude']),
      answer: { failure: { at: 'in mid text', how: random.pick(['reset', 'close']) } },
    }),
  },
];
