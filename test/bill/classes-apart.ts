import { answerText, BOTH, classMaker, NEVER, plainOrClaude, STREAMED, type BillClass } from './classes.ts';
import type { DoubledPart } from './models.ts';
import { CHAT_DIALECTS, HALFWAY, type Failure } from './plan.ts';
import type { Random } from './random.ts';

const USUAL = { dialects: CHAT_DIALECTS, forms: BOTH, stages: NEVER } as const;
const apart = classMaker('apart', USUAL);
const booked = classMaker('cost', { ...USUAL, forms: STREAMED });
const possible = classMaker('possible', USUAL);
const failover = classMaker('failover', USUAL);

/** What the provider bills beyond what a request may cost, or for answers that never came: the operator's loss, booked as such. */
export const APART: readonly BillClass[] = [
  apart('backend ignores the cap', (random) => ({
    model: plainOrClaude(random),
    ask: { prompt: random.prose(5), maxTokens: random.integer(1, 20) },
    answer: { ignoresCap: true, text: answerText(random, 300) },
  })),
  possible('backend resets before its headers', (random) => ({
    ...fragile(random, 'reset'),
    answer: { failure: { at: 'before headers', how: resetOrClose(random) } },
  })),
  booked('backend resets in mid text', (random) => ({
    ...fragile(random, 'text'),
    answer: {
      // All that it says, so that the tokens of this part are those of a text.
      text: `${random.prose(random.integer(60, 120))} ${HALFWAY}`,
      failure: { at: 'in mid text', how: resetOrClose(random) },
    },
  })),
  booked('backend closes after its usage, before the end', (random) => ({
    ...fragile(random, 'usage'),
    answer: { failure: { at: 'after usage', how: 'close' } },
  })),
  possible(
    'backend breaks off in a whole answer',
    (random) => ({
      ...fragile(random, 'whole'),
      answer: { failure: { at: 'in mid text', how: resetOrClose(random) } },
    }),
    { forms: ['whole'] },
  ),
  failover('first backend answers 500, second serves', (random) => ({
    ...doubled(random, 'error'),
    answer: { failure: { at: 'before headers', how: 'error', backend: 'first' } },
  })),
  failover('first backend resets before its headers, second serves', (random) => ({
    ...doubled(random, 'reset'),
    answer: { failure: { at: 'before headers', how: resetOrClose(random), backend: 'first' } },
  })),
  failover(
    'first backend resets before its first event, second serves',
    (random) => ({
      ...doubled(random, 'event'),
      answer: { failure: { at: 'at headers', how: resetOrClose(random), backend: 'first' } },
    }),
    { forms: STREAMED },
  ),
];

function fragile(random: Random, part: string) {
  return { model: random.pick([`fragile-${part}`, `claude-fragile-${part}`]), balance: '5' };
}

/** A model that two backends serve. */
function doubled(random: Random, part: DoubledPart) {
  return { model: random.pick([`doubled-${part}`, `claude-doubled-${part}`]), balance: '5' };
}

function resetOrClose(random: Random): Failure['how'] {
  return random.pick(['reset', 'close']);
}
