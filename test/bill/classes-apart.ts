import { answerText, BOTH, NEVER, type BillClass } from './classes.ts';
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
];
