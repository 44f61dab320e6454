import type { InvoiceLine } from './invoice.ts';
import { pricesOf } from './models.ts';
import { amountOf, dollars } from './prices.ts';
import { BILLED_BY_MODEL } from './provider-export.ts';
import { describePlan, type BilledRequest, type BillRun, type Receipt } from './run-plans.ts';

/** Both sums of one class, over all its requests. */
export interface ClassSum {
  readonly className: string;
  readonly verdict: BilledRequest['plan']['verdict'];
  readonly requests: number;
  readonly charged: bigint;
  /** Paid by the operator beyond the charge, and booked. */
  readonly booked: bigint;
  /** What was booked as possible, before the provider's bill was. */
  readonly possible: bigint;
  readonly invoiced: bigint;
}

const ALL_LEFT_PERCENT = 99n;
const CLASS_LEFT_PERCENT = 95n;

/** Whatever is wrong with a run, in words; nothing, if nothing is. */
export function faultsOf(run: BillRun): string[] {
  const sums = classSums(run.requests, run.booked);
  return [
    ...run.breaches.map((breach) => `books: ${JSON.stringify(breach)}`),
    ...(run.openHolds === 0 ? [] : [`${run.openHolds} holds are still open`]),
    ...run.refusals.map((refusal) => `the backend refused: ${refusal}`),
    ...run.requests.flatMap(requestFaults),
    ...run.unreconciled,
    ...leftFaults(sums),
    ...bookedFaults(sums),
  ];
}

/** Where the account does not pay, the operator does: what is booked in the end is the invoice, to the nano-dollar. */
function bookedFaults(sums: readonly ClassSum[]): string[] {
  return sums
    .filter(({ verdict }) => verdict === 'apart' || BILLED_BY_MODEL.has(verdict))
    .filter(({ charged, booked, invoiced }) => charged + booked !== invoiced)
    .map((one) => `${one.className}: booked ${one.charged + one.booked} of an invoice of ${one.invoiced}`);
}

function requestFaults(request: BilledRequest): string[] {
  const { plan, client, invoiced, receipt } = request;
  const faults: string[] = [];
  const say = (what: string): void => {
    faults.push(`${describePlan(plan)}: ${what} (${detail(request)})`);
  };
  if (plan.verdict === 'refused') {
    if (client.status !== 400 || receipt || request.lines.length > 0)
      say(`was not refused: ${client.status}`);
    return faults;
  }
  if (!receipt) say('no receipt');
  else {
    const { charged, held, overrun } = receipt;
    if (charged > held) say('charged above the hold');
    if (plan.verdict === 'exact' && charged !== invoiced) say('charge is not the invoice');
    if (plan.verdict === 'apart' && charged + overrun !== invoiced)
      say('charge and booked loss are not the invoice');
    if (plan.verdict === 'cost' && (receipt.cost !== invoiced || charged !== invoiced))
      say('booked cost is not the invoice');
    if (plan.verdict === 'possible' && (receipt.possibleCost < invoiced || charged !== 0n))
      say('the possible cost is not booked');
    if (plan.verdict === 'failover') faults.push(...failoverFaults(request, receipt));
    if (plan.verdict === 'untold' && charged + receipt.possibleCost < invoiced)
      say('charge and possible cost are below the invoice');
    if (plan.verdict === 'untold' && receipt.source === 'upstream' && charged !== invoiced)
      say('the charge is not the invoice, which was reported');
    // Of what nobody has reported, the most that it can be is charged.
    if (plan.leave === 'never' && plan.verdict !== 'untold' && charged > invoiced)
      say('a client that read to the end paid more than the invoice');
  }
  if (
    plan.leave === 'never' &&
    (!plan.answer.failure || plan.verdict === 'failover') &&
    client.status !== 200
  )
    say(`status ${client.status}`);
  return faults;
}

/** The one that served is charged, and its cost known; what the other may have cost is booked if it may have worked. */
function failoverFaults(request: BilledRequest, { charged, cost, possibleCost }: Receipt): string[] {
  const prices = pricesOf(request.plan.model);
  const sumOf = (lines: readonly InvoiceLine[]): bigint =>
    lines.reduce((sum, line) => sum + amountOf(line, prices), 0n);
  const failed = request.lines.filter(({ backend }) => backend === 'first');
  const served = sumOf(request.lines.filter((line) => !failed.includes(line)));
  const isBooked = failed.length === 0 ? possibleCost === 0n : possibleCost >= sumOf(failed);
  if (charged === served && cost === served && isBooked) return [];
  return [`${describePlan(request.plan)}: not charged and booked as the second served (${detail(request)})`];
}

function detail({ receipt, invoiced, lines, client }: BilledRequest): string {
  const told = lines.map(({ tokens, end }) => `${JSON.stringify(tokens)} ${end}`).join(' + ');
  const booked = receipt
    ? `charged ${receipt.charged}, held ${receipt.held}, overrun ${receipt.overrun}, cost ${receipt.cost}, possible ${receipt.possibleCost}, ${receipt.state} ${receipt.outcome}, ${receipt.usage}`
    : `no receipt, ${client.text.slice(0, 300)}`;
  return `invoice ${invoiced}: ${told}; ${booked}`;
}

/** Of what left clients owe, nearly all must be charged: over all of them, and in every class. */
function leftFaults(sums: readonly ClassSum[]): string[] {
  const left = sums.filter(({ verdict }) => verdict === 'left');
  const charged = left.reduce((sum, one) => sum + one.charged, 0n);
  const invoiced = left.reduce((sum, one) => sum + one.invoiced, 0n);
  const faults = left
    .filter((one) => one.charged * 100n < one.invoiced * CLASS_LEFT_PERCENT)
    .map((one) => `left, ${one.className}: ${percent(one)} of the invoice were charged`);
  if (charged * 100n < invoiced * ALL_LEFT_PERCENT)
    faults.push(`left, all: ${percent({ charged, booked: 0n, invoiced })} of the invoice were charged`);
  return faults;
}

/** `booked` has what each model cost, in the books of the same runs. */
export function classSums(
  requests: readonly BilledRequest[],
  booked: ReadonlyMap<string, bigint>,
): ClassSum[] {
  const classes = Map.groupBy(requests, ({ plan }) => `${plan.verdict} ${plan.className}`);
  return [...classes.values()]
    .flatMap((own) => {
      const [first] = own;
      if (!first) return [];
      const { className, verdict } = first.plan;
      const sum = (of: (request: BilledRequest) => bigint): bigint =>
        own.reduce((total, request) => total + of(request), 0n);
      const charged = sum(({ receipt }) => receipt?.charged ?? 0n);
      const cost = [...new Set(own.map(({ plan }) => plan.model))].reduce(
        (total, model) => total + (booked.get(model) ?? 0n),
        0n,
      );
      return [
        {
          className,
          verdict,
          requests: own.length,
          charged,
          booked: BILLED_BY_MODEL.has(verdict)
            ? cost - charged
            : sum(({ receipt }) => (verdict === 'untold' ? receipt?.possibleCost : receipt?.overrun) ?? 0n),
          possible: sum(({ receipt }) => receipt?.possibleCost ?? 0n),
          invoiced: sum(({ invoiced }) => invoiced),
        },
      ];
    })
    .sort((a, b) => a.verdict.localeCompare(b.verdict) || a.className.localeCompare(b.className));
}

const TITLES = {
  exact: 'Finished',
  left: 'Left',
  apart: 'Apart',
  cost: 'Broken off',
  untold: 'Broken off, untold',
  possible: 'Never came',
  failover: 'Second served',
  refused: 'Refused',
} as const;

/** The table of classes, as it is printed and published. */
export function tableOf(sums: readonly ClassSum[]): string {
  const rows = (Object.keys(TITLES) as (keyof typeof TITLES)[]).flatMap((verdict) =>
    sums
      .filter((one) => one.verdict === verdict)
      .map((one) => {
        const cells = [
          TITLES[verdict],
          one.className,
          String(one.requests),
          dollars(one.charged),
          dollars(one.booked),
        ];
        return `| ${[...cells, dollars(one.invoiced), percent(one)].join(' | ')} |`;
      }),
  );
  return [
    '| kind | class | requests | charged, USD | booked loss, USD | invoice, USD | covered |',
    '|---|---|--:|--:|--:|--:|--:|',
    ...rows,
  ].join('\n');
}

/** What the books said of attempts that failed until the provider's bill was booked: never less than what was billed. */
export function possibleTableOf(sums: readonly ClassSum[]): string {
  const rows = sums
    .filter(({ possible, verdict }) => possible > 0n && BILLED_BY_MODEL.has(verdict))
    .map(
      ({ verdict, className, possible, booked }) =>
        `| ${TITLES[verdict]} | ${className} | ${dollars(possible)} | ${dollars(booked)} |`,
    );
  return [
    '| kind | class | possible before the bill, USD | booked with it, USD |',
    '|---|---|--:|--:|',
    ...rows,
  ].join('\n');
}

/** Cut off, not rounded: 100 % means all of it. */
function percent({ charged, booked, invoiced }: Pick<ClassSum, 'charged' | 'booked' | 'invoiced'>): string {
  if (invoiced === 0n) return charged === 0n ? '100 %' : '∞';
  const hundredths = ((charged + booked) * 10_000n) / invoiced;
  return `${hundredths / 100n}.${(hundredths % 100n).toString().padStart(2, '0')} %`;
}
