import { ENDINGS, type EndedPlan, type Ending, type Round } from './endings-generate.ts';
import { BilledNodes } from './nodes.ts';
import { dollars } from './prices.ts';
import { describePlan, type BilledRequest } from './run-plans.ts';

interface EndedRequest extends EndedPlan {
  readonly billed: BilledRequest;
}

export interface EndingsRun {
  readonly requests: readonly EndedRequest[];
  readonly faults: readonly string[];
}

/** Of what was counted, and no report told. */
const COUNTED_WITHIN_PERCENT = 5n;
/** Of all that was invoiced, what neither an account nor a booked loss covers. */
const MOST_ONLY_POSSIBLE_PERCENT = 3n;

/** Runs the rounds on two nodes on Postgres, or on one on SQLite, and compares the books with the invoice. */
export async function runRounds(rounds: readonly Round[], databaseUrl?: string): Promise<EndingsRun> {
  const all = rounds.flatMap(({ requests }) => requests);
  const nodes = await BilledNodes.start(
    all.map(({ plan }) => plan),
    databaseUrl,
  );
  try {
    for (const { requests, victim, nodeEnd, pauseMs } of rounds) {
      const plans = requests.map(({ plan }) => plan);
      await nodes.round(plans, victim, nodeEnd, () => Bun.sleep(pauseMs));
    }
    const { requests: billed, breaches, refusals } = await nodes.books();
    const byId = new Map(billed.map((request) => [request.plan.id, request]));
    const requests = all.flatMap((one) => {
      const found = byId.get(one.plan.id);
      return found ? [{ ...one, billed: found }] : [];
    });
    const faults = [
      ...breaches.map((breach) => `books: ${JSON.stringify(breach)}`),
      ...refusals.map((refusal) => `the backend refused: ${refusal}`),
      ...requests.flatMap(faultsOfRequest),
      ...countedFaults(requests, ({ ending }) => ending),
    ];
    return { requests, faults };
  } finally {
    await nodes.stop();
  }
}

function faultsOfRequest({ ending, billed }: EndedRequest): string[] {
  const { plan, receipt, invoiced, lines, client } = billed;
  const say = (what: string): string[] => [
    `${ending}, ${describePlan(plan)}: ${what} (invoice ${invoiced} of ${lines.length}: ${JSON.stringify(lines.map(({ tokens, end }) => ({ tokens, end })))}; ${told(billed)}, status ${client.status})`,
  ];
  // A backend that failed several times in a row rests, and is not asked.
  if (lines.length === 0)
    return (receipt?.charged ?? 0n) === 0n ? [] : say('charged, and no backend was asked');
  if (!receipt) return say('no receipt');
  const { charged, overrun, possibleCost, held, source, state } = receipt;
  if (charged > held) return say('charged above the hold');
  const isReported = source === 'upstream' && state === 'posted';
  if ((ending === 'finished' || isReported) && charged + overrun !== invoiced)
    return say('the charge is not the invoice, which was reported');
  // What a backend makes until it notices that a client has left is compared below.
  if (ending !== 'left' && charged + overrun + possibleCost < invoiced)
    return say('the invoice is above charge, loss and possible cost');
  return [];
}

function told({ receipt }: BilledRequest): string {
  if (!receipt) return 'no receipt';
  const { charged, held, overrun, possibleCost, state, outcome, usage } = receipt;
  return `charged ${charged}, held ${held}, overrun ${overrun}, possible ${possibleCost}, ${state} ${outcome}, ${usage}`;
}

/** Streams that showed all that they used, and were counted. */
function countedFaults(
  requests: readonly EndedRequest[],
  groupOf: (request: EndedRequest) => string,
): string[] {
  const counted = requests.filter(
    ({ billed: { receipt, plan }, use }) =>
      plan.streamed && receipt?.state === 'posted' && receipt.source !== 'upstream' && !use.isToldLast,
  );
  return [...Map.groupBy(counted, groupOf)].flatMap(([name, own]) => {
    const { charged, invoiced } = sumsOf(own);
    const difference = charged > invoiced ? charged - invoiced : invoiced - charged;
    if (difference * 100n <= invoiced * COUNTED_WITHIN_PERCENT) return [];
    return [`counted, ${name}: ${charged} charged of an invoice of ${invoiced} in ${own.length} requests`];
  });
}

/**
 * Of a large run: what was counted of each dimension, and what only possible costs cover. In a small one a single token that a
 * backend made before it noticed that its client had left may be a tenth of a dimension's invoice.
 */
export function faultsOfLargeRun(requests: readonly EndedRequest[]): string[] {
  const faults = countedFaults(requests, ({ use }) => use.name);
  const { invoiced, uncovered } = sumsOf(requests);
  if (uncovered * 100n > invoiced * MOST_ONLY_POSSIBLE_PERCENT)
    faults.push(`${uncovered} of an invoice of ${invoiced} is covered by possible costs only`);
  return faults;
}

function sumsOf(requests: readonly EndedRequest[]) {
  const sums = { charged: 0n, lost: 0n, possible: 0n, invoiced: 0n, uncovered: 0n };
  for (const { billed } of requests) {
    const { charged = 0n, overrun = 0n, possibleCost = 0n } = billed.receipt ?? {};
    const rest = billed.invoiced - charged - overrun;
    sums.charged += charged;
    sums.lost += overrun;
    sums.possible += possibleCost;
    sums.invoiced += billed.invoiced;
    sums.uncovered += rest > 0n ? rest : 0n;
  }
  return sums;
}

/** By ending and form: what was charged, booked and invoiced, and what only possible costs cover. */
export function endingsTable(requests: readonly EndedRequest[]): string {
  const rows = [...ENDINGS, 'all'].flatMap((ending) =>
    (ending === 'all' ? [undefined] : [true, false]).map((streamed) =>
      rowOf(
        ending,
        streamed,
        requests.filter((one) => isOf(one, ending as Ending | 'all', streamed)),
      ),
    ),
  );
  return [
    '| ending | form | requests | asked | reported | charged, USD | booked loss, USD | possible, USD | invoice, USD | only possible |',
    '|---|---|--:|--:|--:|--:|--:|--:|--:|--:|',
    ...rows,
  ].join('\n');
}

function isOf(
  { ending, plan }: EndedRequest,
  wanted: Ending | 'all',
  streamed: boolean | undefined,
): boolean {
  return wanted === 'all' || (ending === wanted && plan.streamed === streamed);
}

function rowOf(ending: string, streamed: boolean | undefined, own: readonly EndedRequest[]): string {
  const { charged, lost, possible, invoiced, uncovered } = sumsOf(own);
  const asked = own.filter(({ billed }) => billed.lines.length > 0).length;
  const reported = own.filter(({ billed }) => billed.receipt?.source === 'upstream').length;
  const hundredths = invoiced === 0n ? 0n : (uncovered * 10_000n) / invoiced;
  const percent = `${hundredths / 100n}.${(hundredths % 100n).toString().padStart(2, '0')} %`;
  const form = streamed === undefined ? '' : streamed ? 'streamed' : 'whole';
  const money = [charged, lost, possible, invoiced].map(dollars);
  return `| ${[ending, form, own.length, asked, reported, ...money, percent].join(' | ')} |`;
}
