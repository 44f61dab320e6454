import type { AccountId } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import { limitEnd } from '../budget.ts';
import {
  HOLD_RETRY_MS,
  holdRange,
  type HoldRange,
  leastShareOf,
  OUTPUT_FLOOR,
  rateDecision,
  rateState,
  SHARE_PARTS,
  UNKNOWN_CALLER,
} from '../decide.ts';
import {
  MAX_CLIENT,
  type Admission,
  type AdmissionRequest,
  type Caller,
  type ReachedLimit,
  type RefusalReason,
} from '../port.ts';
import { LEDGER_ADMIT, LEDGER_ADMIT_ONE } from './admission-sql.ts';
import { holdPrices } from '../price.ts';
import type { HoldPrices } from '../priced-parts.ts';
import { TEAM_FACTOR } from '../decide.ts';
import { Columns, numbersIn, plain, texts } from './batch.ts';
import { CallFailed, type BoundStatement, type Statement } from './pool.ts';
import { MAX_COUNT, priceToText } from '../price.ts';
import type { Numbers } from './numbers.ts';

/** A batch of admissions on its way to the database's `ledger_admit` and back. */
export class AdmissionBatch {
  readonly #groups: readonly Group[];
  /** In the order in which they are sent: by group. */
  readonly #members: readonly Member[];

  constructor(requests: readonly AdmissionRequest[]) {
    const groups = new Map<string, Group>();
    for (const [place, request] of requests.entries()) {
      const key = groupKey(request);
      let group = groups.get(key);
      if (!group) groups.set(key, (group = new Group(request, groups.size + 1)));
      group.add(request, place);
    }
    this.#groups = [...groups.values()];
    this.#members = this.#groups.flatMap((group) => group.members);
  }

  /** The database function that decides this batch, with its arguments. */
  call(numbers: Numbers, leaseMs: number, offsetUs: number): BoundStatement {
    const rules = [numbers.node, leaseMs, offsetUs, ...RULES];
    const shapes = new Shapes(numbers);
    let last = 0;
    for (const group of this.#groups) group.last = last += group.members.length;
    for (const member of this.#members) member.shape = shapes.placeOf(member.request);
    const [group, member, shape] = [this.#groups[0], this.#members[0], shapes.all[0]];
    if (this.#members.length === 1 && group && member && shape) {
      const values = [...GROUP.plain(group), ...SHAPE.plain(shape), ...REQUEST.plain(member)];
      return { statement: ADMIT_ONE, values: [...rules, ...values] };
    }
    const values = [
      ...GROUP.arrays(this.#groups),
      ...SHAPE.arrays(shapes.all),
      ...REQUEST.arrays(this.#members),
    ];
    return { statement: ADMIT, values: [...rules, ...values] };
  }

  /**
   * What the database decided, in the order in which the requests came. An answer that cannot be read says nothing about
   * the holds, which may have been written.
   */
  admissions(row: AdmitRow | undefined): Admission[] {
    const groupNumbers = numbersIn(row?.group_results ?? null);
    const numbers = numbersIn(row?.request_results ?? null);
    const accounts = row?.accounts?.split(',') ?? [];
    const wallets = row?.wallets?.split(',') ?? [];
    if (!this.#isReadable(accounts, groupNumbers, numbers))
      throw new CallFailed('unknown', 'the answer of the admission cannot be read');
    const admissions: Admission[] = [];
    let sent = 0;
    for (const [index, group] of this.#groups.entries()) {
      const [verdict = -1, free = 0, limit = 1, backlogUs = 0, budgetLeft = -1] = groupNumbers.slice(
        index * NUMBERS_PER_GROUP,
        (index + 1) * NUMBERS_PER_GROUP,
      );
      // The database names accounts by their ids.
      const accountId = (accounts[index] ?? '') as AccountId;
      const walletId = (wallets[index] || undefined) as AccountId | undefined;
      const whole = new WholeGroup({ accountId, walletId }, { free, limit, backlogUs, budgetLeft });
      for (const member of group.members) {
        const at = sent++ * NUMBERS_PER_REQUEST;
        if (verdict === 1) admissions[member.place] = whole.next(member);
        else if (verdict === 0)
          admissions[member.place] = admissionOf(
            member,
            { accountId, walletId },
            numbers.slice(at, at + NUMBERS_PER_REQUEST),
          );
        else admissions[member.place] = UNKNOWN_CALLER;
      }
    }
    return admissions;
  }

  #isReadable(
    accounts: readonly string[],
    groupNumbers: readonly number[],
    numbers: readonly number[],
  ): boolean {
    const groups = this.#groups.length;
    if (accounts.length !== groups || groupNumbers.length !== groups * NUMBERS_PER_GROUP) return false;
    const decidedOneByOne = groupNumbers.some(
      (verdict, index) => index % NUMBERS_PER_GROUP === 0 && verdict === 0,
    );
    if (decidedOneByOne && numbers.length !== this.#members.length * NUMBERS_PER_REQUEST) return false;
    return groupNumbers.every(Number.isSafeInteger) && numbers.every(Number.isSafeInteger);
  }
}

export interface AdmitRow {
  /** One number for each group, separated by commas. */
  readonly accounts: string | null;
  /** The same for the teams that pay; nothing where an account pays itself. */
  readonly wallets?: string | null;
  readonly group_results: string;
  /** Absent when every group was admitted as a whole or has no account. */
  readonly request_results: string | null;
}

const NUMBERS_PER_GROUP = 5;
const NUMBERS_PER_REQUEST = 9;
const PARAMETERS = 38;

const ADMIT = admitBy(LEDGER_ADMIT.name);
const ADMIT_ONE = admitBy(LEDGER_ADMIT_ONE.name);

function admitBy(name: string): Statement {
  return {
    name,
    text: `SELECT * FROM ${name}(${Array.from({ length: PARAMETERS }, (_, n) => `$${n + 1}`).join(', ')})`,
  };
}

const RULES = [MAX_BALANCE, OUTPUT_FLOOR, SHARE_PARTS, MAX_COUNT, TEAM_FACTOR];

/** An admission that holds nothing, for a token that no account has: a hash is longer. */
export const PROBE: BoundStatement = {
  statement: ADMIT_ONE,
  values: [
    [0, 1_000, 0, ...RULES],
    ['nobody', null, false, 1, 1, 1, 0, 0, null, 0],
    [false, 0, 0, 0, 0, 0, 0, 0, ''],
    ['probe', 1, 1, 0, 0, 0, 0, 0, 0, 1, null],
  ].flat(),
};

interface Member extends HoldRange {
  readonly request: AdmissionRequest;
  readonly group: Group;
  /** The index in the batch before it was sorted. */
  readonly place: number;
  /** Counted from one, as the database does; 0: not known yet. */
  shape: number;
}

/** Requests of one caller under one kind of limit, at the prices of one group and time: whether all of them fit is one question. */
class Group {
  readonly caller: Caller;
  /** Counted from one, as the database does. */
  readonly number: number;
  readonly images: boolean;
  readonly perMinute: number;
  readonly concurrent: number;
  /** The price group for which its requests were quoted. */
  readonly priceGroup: string | null;
  /** When their prices end. */
  readonly validUntil: number;
  readonly members: Member[] = [];
  /** What all of them would hold. Beyond any balance it need not be exact. */
  total = 0;
  /** How many requests of the batch come before the next group's. */
  last = 0;
  /** What must be free beside that: the input of a member was not counted, or it has no cap of its own. */
  #spare = 0;

  constructor({ caller, rate, limits, priceGroup, validUntil }: AdmissionRequest, number: number) {
    this.caller = caller;
    this.number = number;
    this.images = rate === 'images';
    this.perMinute = this.images ? limits.imagesPerMinute : limits.chatPerMinute;
    this.concurrent = limits.concurrent;
    this.priceGroup = priceGroup ?? null;
    this.validUntil = validUntil ?? Number.MAX_SAFE_INTEGER;
  }

  add(request: AdmissionRequest, place: number): void {
    const range = holdRange(request);
    this.members.push({ request, group: this, place, shape: 0, ...range });
    this.total = Math.min(this.total + range.full, Number.MAX_SAFE_INTEGER);
    this.#spare = Math.max(this.#spare, Math.max(range.uncounted, range.fullFrom) - range.full);
  }

  /**
   * What must be free so that each of them is admitted in full, whatever their order: before each, what the others hold
   * is taken at most.
   */
  get needed(): number {
    return Math.min(this.total + this.#spare, Number.MAX_SAFE_INTEGER);
  }
}

function groupKey({ caller, rate, limits, priceGroup, validUntil }: AdmissionRequest): string {
  const who = caller.kind === 'token' ? caller.hash : caller.id;
  return `${caller.kind} ${rate} ${limits.chatPerMinute} ${limits.imagesPerMinute} ${limits.concurrent} ${who} ${priceGroup ?? ''} ${validUntil}`;
}

/** What requests have in common is sent once: most of a batch is the same few models and clients. */
class Shapes {
  readonly #numbers: Numbers;
  readonly #places = new Map<string, number>();
  readonly all: Shape[] = [];

  constructor(numbers: Numbers) {
    this.#numbers = numbers;
  }

  /** Counted from one, as the database does. */
  placeOf(request: AdmissionRequest): number {
    const { endpoint, model, price, stream, client, ceiling } = request;
    const held = heldPer(request);
    const heldKey = `${held.input} ${held.output} ${held.fixed}`;
    const key = `${ceiling.kind} ${request.leastShare} ${request.rate} ${stream} ${heldKey} ${priceToText(price)}\0${endpoint}\0${model}\0${client}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const [route, priceNumber] = [this.#numbers.route(request), this.#numbers.price(price)];
    this.all.push({ request, held, route, price: priceNumber });
    this.#places.set(key, this.all.length);
    return this.all.length;
  }
}

interface Shape {
  readonly request: AdmissionRequest;
  readonly held: HoldPrices;
  /** Their numbers in the database. */
  readonly route: number;
  readonly price: number;
}

const GROUP = new Columns<Group>(
  texts(({ caller }) => (caller.kind === 'token' ? caller.hash : null)),
  texts(({ caller }) => (caller.kind === 'account' ? caller.id : null)),
  plain(({ images }) => images),
  plain(({ perMinute }) => perMinute),
  plain(({ concurrent }) => concurrent),
  plain(({ last }) => last),
  plain(({ total }) => total),
  plain(({ needed }) => needed),
  texts(({ priceGroup }) => priceGroup),
  plain(({ validUntil }) => validUntil),
);

const SHAPE = new Columns<Shape>(
  plain(({ request }) => request.ceiling.kind === 'tokens'),
  plain(({ request }) => leastShareOf(request)),
  plain(({ route }) => route),
  plain(({ price }) => price),
  plain(({ held }) => held.input),
  plain(({ held }) => held.output),
  plain(({ held }) => held.fixed),
  plain(({ request }) => (request.stream ? 1 : 0)),
  texts(({ request }) => request.client.slice(0, MAX_CLIENT)),
);

const REQUEST = new Columns<Member>(
  texts(({ request }) => request.requestId),
  plain(({ group }) => group.number),
  plain(({ shape }) => shape),
  plain(({ full }) => full),
  plain(({ fullFrom }) => fullFrom),
  plain(({ required }) => required),
  plain(({ uncounted }) => uncounted),
  plain(({ request: { ceiling } }) => (ceiling.kind === 'tokens' ? ceiling.input : 0)),
  plain(({ request }) => outputOf(request)),
  plain(({ request: { ceiling } }) => (ceiling.kind === 'tokens' ? ceiling.choices : ceiling.images)),
  texts(({ request: { caller } }) => (caller.kind === 'token' ? caller.address : null)),
);

const NOTHING_HELD: HoldPrices = { input: 0, output: 0, fixed: nanoUsd(0) };

function heldPer({ price, ceiling }: AdmissionRequest): HoldPrices {
  return price.kind === 'tokens' ? holdPrices(price, ceiling) : NOTHING_HELD;
}

function outputOf({ ceiling }: AdmissionRequest): number {
  return ceiling.kind === 'tokens' ? ceiling.output : 0;
}

/** Admits the members of a group one after another, as the database did at once. */
class WholeGroup {
  readonly #payer: Payer;
  readonly #limit: number;
  #free: number;
  #backlogUs: number;
  /** Negative: there is none. */
  #budgetLeft: number;

  constructor(payer: Payer, { free, limit, backlogUs, budgetLeft }: Readonly<Record<BeforeGroup, number>>) {
    this.#payer = payer;
    this.#free = free;
    this.#limit = limit;
    this.#backlogUs = backlogUs;
    this.#budgetLeft = budgetLeft;
  }

  next({ request, full }: Member): Admission {
    const { accountId, walletId } = this.#payer;
    this.#free -= full;
    if (this.#budgetLeft >= 0) this.#budgetLeft -= full;
    this.#backlogUs = rateDecision({ arrivalUs: this.#backlogUs, perMinute: this.#limit }, 0).nextUs;
    return {
      kind: 'admitted',
      accountId,
      ...(walletId !== undefined && { walletId }),
      held: full,
      output: outputOf(request),
      rate: rateState(this.#limit, this.#backlogUs, 0),
      available: nanoUsd(this.#free),
      ...(this.#budgetLeft >= 0 && { budgetLeft: nanoUsd(this.#budgetLeft) }),
    };
  }
}

/** Whose request it is, and the team that pays for it, if one does. */
interface Payer {
  readonly accountId: AccountId;
  readonly walletId: AccountId | undefined;
}

type BeforeGroup = 'free' | 'limit' | 'backlogUs' | 'budgetLeft';

/** The reasons, at the numbers by which `ledger_admit` names them. */
const REASONS: readonly RefusalReason[] = [
  'invalid_token',
  'rate_limit_exceeded',
  'concurrency_limit_exceeded',
  'insufficient_balance',
  'limit_reached',
  'funds_on_hold',
  'request_exceeds_balance',
  'count_first',
  'limit_reached',
  'network_not_allowed',
  'model_not_allowed',
  'rate_limit_exceeded',
  'quote_again',
];

const BUDGET = 9;
const BUDGET_LIMITS: readonly ReachedLimit[] = ['budget_day', 'budget_week', 'budget_month', 'budget_total'];
/** Added to the number of the period where the money is a team's. */
const OF_A_TEAM = 8;

function admissionOf(member: Member, { accountId, walletId }: Payer, numbers: readonly number[]): Admission {
  const [
    verdict = 1,
    held = 0,
    output = 0,
    free = 0,
    limit = 1,
    backlogUs = 0,
    whose = 0,
    left = -1,
    now = 0,
  ] = numbers;
  const rate = rateState(limit, backlogUs, 0);
  const available = nanoUsd(free);
  if (verdict === 0) {
    const budgetLeft = left < 0 ? undefined : nanoUsd(left);
    return {
      kind: 'admitted',
      accountId,
      ...(walletId !== undefined && { walletId }),
      held: nanoUsd(held),
      output,
      rate,
      available,
      budgetLeft,
    };
  }
  const reason = REASONS[verdict - 1] ?? 'invalid_token';
  if (reason === 'network_not_allowed' || reason === 'model_not_allowed' || reason === 'quote_again')
    return { ...UNKNOWN_CALLER, reason };
  const retryAfterMs = retryAfter(reason, limit, backlogUs);
  const isTeam = whose >= OF_A_TEAM;
  const reached = reachedLimit(verdict, whose % OF_A_TEAM);
  return {
    kind: 'refused',
    reason,
    retryAfterMs,
    available,
    required: member.required,
    rate,
    limit: reached,
    resetsAt: reached && limitEnd(reached, now),
    isTeam,
  };
}

function reachedLimit(verdict: number, period: number): ReachedLimit | undefined {
  if (verdict === BUDGET) return BUDGET_LIMITS[period - 1];
  return REASONS[verdict - 1] === 'limit_reached' ? 'month' : undefined;
}

function retryAfter(reason: RefusalReason, perMinute: number, backlogUs: number): number | undefined {
  if (reason === 'concurrency_limit_exceeded' || reason === 'funds_on_hold') return HOLD_RETRY_MS;
  if (reason !== 'rate_limit_exceeded') return undefined;
  return Math.ceil(rateDecision({ arrivalUs: backlogUs, perMinute }, 0).waitUs / 1000);
}
