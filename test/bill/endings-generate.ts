import { answerText } from './classes.ts';
import { PRICED_USES, type PricedUse } from './dimensions.ts';
import { BROKEN_MODEL, lateModel } from './models.ts';
import { NODE_ENDS, type NodeEnd } from './nodes.ts';
import { HALFWAY, STREAM_STAGES, WHOLE_STAGES, type Failure, type Plan } from './plan.ts';
import { Random } from './random.ts';

export const ENDINGS = ['finished', 'left', 'broken off', 'deadline', ...NODE_ENDS] as const;
export type Ending = (typeof ENDINGS)[number];

/** A request, and how it is to end. */
export interface EndedPlan {
  readonly plan: Plan;
  readonly ending: Ending;
  readonly use: PricedUse;
}

/** Requests that run together; those that are to end with their node do so when it ends in this way. */
export interface Round {
  readonly requests: readonly EndedPlan[];
  readonly victim: number;
  readonly nodeEnd: NodeEnd;
  /** Between the moment at which everything has come to its stage and the end of the node. */
  readonly pauseMs: number;
}

const REQUESTS_A_ROUND = 50;
/** Notes of what was delivered are made after a second at the latest, so a node may end before and after its first one. */
const MOST_PAUSE_MS = 2_500;
/**
 * Of a hundred requests; the rest end with their node. How much of an invoice only possible costs cover follows from these
 * shares: of a request that nobody answered, nothing is charged.
 */
const SHARES: readonly (readonly [Exclude<Ending, NodeEnd>, number])[] = [
  ['finished', 64],
  ['left', 27],
  ['broken off', 3],
  ['deadline', 2],
];

/** Model, dimension, dialect, form, moment and kind of ending follow from the seed. */
export function generateRounds(seed: number, count: number): Round[] {
  const random = new Random(seed);
  const nodeEnds = random.shuffled(NODE_ENDS);
  return Array.from({ length: Math.ceil(count / REQUESTS_A_ROUND) }, (_, round) => {
    // In turn, so that a run of three rounds has each of them.
    const nodeEnd = nodeEnds[round % nodeEnds.length] ?? 'kill -9';
    const first = round * REQUESTS_A_ROUND;
    const ids = Array.from(
      { length: Math.min(REQUESTS_A_ROUND, count - first) },
      (_none, index) => first + index,
    );
    return {
      requests: ids.map((id) => requestOf(id, endingOf(random, nodeEnd), random)),
      victim: random.integer(0, 1),
      nodeEnd,
      pauseMs: random.integer(0, MOST_PAUSE_MS),
    };
  });
}

function endingOf(random: Random, nodeEnd: NodeEnd): Ending {
  let left = random.next() * 100;
  for (const [ending, share] of SHARES) {
    left -= share;
    if (left < 0) return ending;
  }
  return nodeEnd;
}

function requestOf(id: number, ending: Ending, random: Random): EndedPlan {
  const use = random.pick(PRICED_USES);
  const streamed = random.next() < 0.75;
  const { ask, answer } = use.make(random);
  const failure = ending === 'broken off' ? failureOf(streamed, random) : undefined;
  // All that it says, so that the tokens of this part are those of a text.
  const text = failure?.at === 'in mid text' ? `${random.prose(100)} ${HALFWAY}` : answerText(random);
  const stays = ending !== 'finished' && ending !== 'left' && ending !== 'broken off';
  const plan: Plan = {
    id,
    className: use.name,
    verdict: 'exact',
    dialect: random.pick(use.dialects),
    model: modelOf(use.model, ending),
    streamed,
    leave:
      ending === 'finished' || ending === 'broken off'
        ? 'never'
        : random.pick<Plan['leave']>(streamed ? STREAM_STAGES : WHOLE_STAGES),
    ...(stays && { clientStays: true }),
    ask: { prompt: random.prose(random.integer(200, 1_200)), ...ask },
    answer: { kind: 'text', usage: 'true', ...answer, text, failure },
  };
  return { plan, ending, use };
}

/** A backend that failed several times in a row rests for that model: those that fail have models of their own. */
function modelOf(model: string, ending: Ending): string {
  if (ending === 'deadline') return lateModel(model);
  return BROKEN_MODEL[ending === 'broken off' ? 'in mid text' : 'after usage'](model);
}

function failureOf(streamed: boolean, random: Random): Failure {
  const at = random.pick<Failure['at']>(
    streamed
      ? ['before headers', 'at headers', 'in mid text', 'after usage']
      : ['before headers', 'in mid text'],
  );
  return { at, how: at === 'after usage' ? 'close' : random.pick(['reset', 'close']) };
}
