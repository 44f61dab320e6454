import {
  answerText,
  classMaker,
  finished,
  left,
  NEVER,
  STREAMED,
  type BillClass,
  type Content,
} from './classes.ts';
import { PRICED_USES, type PricedUse } from './dimensions.ts';
import { BROKEN_MODEL } from './models.ts';
import { CHAT_DIALECTS, HALFWAY, type Failure } from './plan.ts';
import type { Random } from './random.ts';

const WAYS = { dialects: CHAT_DIALECTS, forms: STREAMED, stages: NEVER };
const booked = classMaker('cost', WAYS);
const untold = classMaker('untold', WAYS);

/** Every row of the table of dimensions, and the tiers: read to the end, left at every stage, broken off by the backend. */
export const DIMENSIONS: readonly BillClass[] = PRICED_USES.flatMap((use) => {
  const { name, model, dialects } = use;
  const make = (random: Random): Content => ({ model, ...use.make(random) });
  // Of a connection that breaks, the last bytes may be lost, and the report with them.
  const ended = use.isToldLast ? untold : booked;
  return [
    finished(name, make, { dialects }),
    left(name, make, { dialects }),
    ended(`${name}, in mid text`, (random) => broken(use, 'in mid text', random), { dialects }),
    ended(`${name}, after its usage`, (random) => broken(use, 'after usage', random), { dialects }),
  ];
});

function broken(use: PricedUse, at: Failure['at'] & keyof typeof BROKEN_MODEL, random: Random): Content {
  const { ask, answer } = use.make(random);
  const failure = {
    at,
    how: at === 'after usage' ? 'close' : random.pick(['reset', 'close'] as const),
  } as const;
  // All that it says, so that the tokens of this part are those of a text.
  const text =
    at === 'in mid text' ? `${random.prose(random.integer(60, 120))} ${HALFWAY}` : answerText(random);
  return {
    model: BROKEN_MODEL[at](use.model),
    balance: '20',
    ask: ask ?? {},
    answer: { ...answer, text, failure },
  };
}
