import { answerText, BOTH, NEVER, STREAMED, type BillClass } from './classes.ts';
import { CHAT_DIALECTS, HALFWAY } from './plan.ts';

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
    verdict: 'possible',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R8'],
    make: (random) => ({
      model: random.pick(['fragile-reset', 'claude-fragile-reset']),
      balance: '5',
      answer: { failure: { at: 'before headers', how: random.pick(['reset', 'close']) } },
    }),
  },
  {
    name: 'backend resets in mid text',
    verdict: 'cost',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: NEVER,
    needs: ['R2', 'R8'],
    make: (random) => ({
      model: random.pick(['fragile-text', 'claude-fragile-text']),
      balance: '5',
      answer: {
        // All that it says, so that the tokens of this part are those of a text.
        text: `${random.prose(random.integer(60, 120))} ${HALFWAY}`,
        failure: { at: 'in mid text', how: random.pick(['reset', 'close']) },
      },
    }),
  },
  {
    name: 'backend closes after its usage, before the end',
    verdict: 'cost',
    dialects: CHAT_DIALECTS,
    forms: STREAMED,
    stages: NEVER,
    needs: ['R8'],
    make: (random) => ({
      model: random.pick(['fragile-usage', 'claude-fragile-usage']),
      balance: '5',
      answer: { failure: { at: 'after usage', how: 'close' } },
    }),
  },
  {
    name: 'backend breaks off in a whole answer',
    verdict: 'possible',
    dialects: CHAT_DIALECTS,
    forms: ['whole'],
    stages: NEVER,
    needs: ['R8'],
    make: (random) => ({
      model: random.pick(['fragile-whole', 'claude-fragile-whole']),
      balance: '5',
      answer: { failure: { at: 'in mid text', how: random.pick(['reset', 'close']) } },
    }),
  },
];
