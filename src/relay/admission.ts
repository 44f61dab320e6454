import { resolve, type Catalog, type EndpointType, type Route } from '../catalog/catalog.ts';
import { callerKey, rateState, affordableCap, cheapestUseful, holdFor, shareOf } from '../ledger/decide.ts';
import type {
  AccountSnapshot,
  Admission,
  AdmissionRequest,
  Caller,
  Ceiling,
  RateKind,
  RateState,
} from '../ledger/port.ts';
import { allowsModel } from '../ledger/token-limits.ts';
import { ClientLeftFault, Fault, tooManyRequests } from '../std/fault.ts';
import { formatUsd, type NanoUsd } from '../std/money.ts';
import { withChosenBackends } from './backend-choice.ts';
import type { Call, RelayParts, AdmissionSummary, LoweredCap, Quote, UncountedInput } from './call.ts';
import { checkKnobs, droppedNames } from './knobs.ts';

export type Admitted = Extract<Admission, { kind: 'admitted' }>;
type Refused = Extract<Admission, { kind: 'refused' }>;

/** A refusal with the state of the caller's rate limit, for the response headers. */
export class RefusedRequest extends Fault {
  readonly rate: RateState | undefined;

  constructor(fault: Fault, rate: RateState | undefined) {
    super(fault.code, fault.message, fault);
    this.rate = rate;
  }
}

interface Quoting<C, Q> {
  quote(call: C, parts: RelayParts): Q;
}

/** What a call may cost and use at most; no backend is called. Throws the fault that the client gets. */
export function quoteOf<C extends Call<unknown>, Q extends Quote>(
  operation: Quoting<C, Q>,
  call: C,
  parts: RelayParts,
): Q | Promise<Q> {
  let quote = operation.quote(call, parts);
  if (call.knobs) {
    quote = withChosenBackends(quote, call);
    checkKnobs(call, quote, parts);
  }
  if (call.maxCost === undefined || costsAtMost(quote, call.maxCost)) return quote;
  return lowerToMaxCost(quote, { caller: call.caller, maxCost: call.maxCost }, parts);
}

/** The same for a call without other checks. If both the token and the request are bad, the error names the token. */
export function quoteOrTokenError<C extends Call<unknown>, Q extends Quote>(
  operation: Quoting<C, Q>,
  call: C,
  parts: RelayParts,
): Q | Promise<Q> {
  try {
    const quoted = quoteOf(operation, call, parts);
    return quoted instanceof Promise ? againOrTokenError(quoted, operation, call, parts) : quoted;
  } catch (thrown) {
    return againUnlessTokenError(thrown, operation, call, parts);
  }
}

async function againOrTokenError<C extends Call<unknown>, Q extends Quote>(
  quoted: Promise<Q>,
  operation: Quoting<C, Q>,
  call: C,
  parts: RelayParts,
): Promise<Q> {
  try {
    return await quoted;
  } catch (thrown) {
    return await againUnlessTokenError(thrown, operation, call, parts);
  }
}

/** The account is read anyway; if its wallet is in another price group than assumed, the request is quoted again. */
// oxlint-disable-next-line max-params -- what was thrown, and what it was thrown by
async function againUnlessTokenError<C extends Call<unknown>, Q extends Quote>(
  thrown: unknown,
  operation: Quoting<C, Q>,
  call: C,
  parts: RelayParts,
): Promise<Q> {
  const { caller } = call;
  const before = parts.seenGroups?.of(caller);
  const error = await tokenErrorOr(thrown, { caller, rate: rateKindOf(call.selector.type) }, parts);
  if (parts.seenGroups?.of(caller) === before) throw error;
  try {
    return await quoteOf(operation, call, parts);
  } catch (again) {
    throw await tokenErrorOr(again, { caller, rate: rateKindOf(call.selector.type) }, parts);
  }
}

/** Counting the input takes work, so the caller must be known. */
async function lowerToMaxCost<Q extends Quote>(
  quote: Q,
  { caller, maxCost }: { readonly caller: Caller; readonly maxCost: NanoUsd },
  parts: RelayParts,
): Promise<Q> {
  await identified(caller, parts);
  return await withinMaxCost(quote, maxCost);
}

/** Asks the ledger to admit the call. */
export function askLedger<C extends Call<unknown>, Q extends Quote>(
  question: LedgerQuestion<C, Q>,
): Promise<Admission> {
  return question.parts.ledger.admit(admissionRequest(question));
}

/**
 * Asks once more, where a refused request can still be admitted: at its account's price, which the question has then; by its
 * counted input; or by money from a card. What stays refused is thrown as the fault that the client gets.
 */
export async function askAgain<C extends Call<unknown>, Q extends Quote>(
  refused: Refused,
  question: LedgerQuestion<C, Q>,
): Promise<Admitted> {
  const { call, parts } = question;
  const admission = await afterCountOrTopUp(refused, question);
  if (admission.kind === 'admitted') return admission;
  parts.metrics.refused(admission.reason);
  if (admission.limit !== undefined) parts.onLimitReached?.(call.caller, admission.limit);
  throw new RefusedRequest(refusalFault(admission), admission.rate);
}

/** What the admission would hold for a call at this moment. */
export interface HeldQuote {
  /** The ceiling with the input that would be held and the output cap that the hold would cover. */
  readonly quote: Quote;
  readonly hold: NanoUsd;
  /** False: the account has too little for it now; the quote is then for the whole request. */
  readonly isCovered: boolean;
}

/** The same rule as the admission's, on the account as it is now; nothing is held. */
export async function heldQuote(
  quote: Quote,
  account: AccountSnapshot,
  client: AbortSignal,
): Promise<HeldQuote> {
  const loose = shareOf(account, { ...quote, counting: countingOf(quote) });
  if (loose.kind === 'fits') return { ...withOutput(quote, loose.output), isCovered: true };
  const ceiling = quote.uncounted ? await quote.uncounted.ceilingByCount(client) : quote.ceiling;
  const counted = { ...quote, ceiling };
  const share = shareOf(account, counted);
  if (share.kind === 'fits') return { ...withOutput(counted, share.output), isCovered: true };
  return { ...withOutput(counted, askedOutputOf(counted) ?? 0), isCovered: false };
}

function withOutput(quote: Quote, output: number): Pick<HeldQuote, 'quote' | 'hold'> {
  const { ceiling } = quote;
  return {
    quote: ceiling.kind === 'tokens' ? { ...quote, ceiling: { ...ceiling, output } } : quote,
    hold: holdFor(quote, output),
  };
}

/** How often one request may wait for money from a card: others may spend it first. */
const MAX_TOP_UPS = 3;

function isShortOfMoney(admission: Admission): admission is Refused {
  if (admission.kind === 'admitted') return false;
  const { reason } = admission;
  return (
    reason === 'insufficient_balance' || reason === 'request_exceeds_balance' || reason === 'funds_on_hold'
  );
}

interface LedgerQuestion<C extends Call<unknown>, Q extends Quote> {
  readonly operation: Quoting<C, Q>;
  readonly call: C;
  /** Replaced when the ledger says that its price is not the account's. */
  quote: Q;
  readonly parts: RelayParts;
  readonly streamed: boolean;
}

async function afterCountOrTopUp<C extends Call<unknown>, Q extends Quote>(
  refused: Refused,
  question: LedgerQuestion<C, Q>,
): Promise<Admission> {
  const { call, parts } = question;
  let admission = await decided(refused, question);
  for (let topUps = 0; isShortOfMoney(admission) && topUps < MAX_TOP_UPS; topUps++) {
    if (!(await parts.topUps?.covered(call.caller, admission.available, call.connection.signal))) break;
    if (call.connection.hasLeft) throw new ClientLeftFault();
    const again = await askLedger(question);
    admission = await decided(again, question);
  }
  return admission;
}

/** How often one request is quoted: its group or price may change while it is being admitted. */
const MAX_QUOTES = 5;

async function decided<C extends Call<unknown>, Q extends Quote>(
  answer: Admission,
  question: LedgerQuestion<C, Q>,
): Promise<Admission> {
  let admission = await withCountedInput(answer, question);
  for (let quotes = 0; isOutdated(admission) && quotes < MAX_QUOTES; quotes++) {
    question.quote = await quotedAgain(question);
    admission = await withCountedInput(await askLedger(question), question);
  }
  return admission;
}

function isOutdated(admission: Admission): boolean {
  return admission.kind === 'refused' && admission.reason === 'quote_again';
}

/** Quotes again for the account as it is now, which is read from the ledger. */
async function quotedAgain<C extends Call<unknown>, Q extends Quote>({
  operation,
  call,
  parts,
}: LedgerQuestion<C, Q>): Promise<Q> {
  const { caller } = call;
  const snapshot = await identified(caller, parts);
  try {
    return await quoteOf(operation, call, parts);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    throw new RefusedRequest(thrown, rateOf(snapshot, rateKindOf(call.selector.type), parts));
  }
}

async function withCountedInput<C extends Call<unknown>, Q extends Quote>(
  admission: Admission,
  question: LedgerQuestion<C, Q>,
): Promise<Admission> {
  const { call, quote } = question;
  if (admission.kind === 'admitted' || admission.reason !== 'count_first' || !quote.uncounted)
    return admission;
  const ceiling = await countedCeiling(quote.uncounted, call.connection.signal, admission.rate);
  if (call.connection.hasLeft) throw new ClientLeftFault();
  const counted = { ...quote, ceiling, uncounted: undefined };
  return await askLedger({ ...question, quote: counted });
}

/** Tells whoever watches that a call is admitted. */
export function noteAdmitted<C extends Call<unknown>, Q extends Quote>(
  admission: Admitted,
  { call, quote, parts }: LedgerQuestion<C, Q>,
): void {
  const { accountId, walletId, available } = admission;
  if (walletId !== undefined) parts.requestSlots?.share(callerKey(call.caller), walletId);
  parts.topUps?.admitted(accountId, available);
  const { requestRecord } = call;
  if (requestRecord) {
    requestRecord.account = accountId;
    requestRecord.endpoint = quote.route.endpoint.code;
    requestRecord.model = quote.route.model.id;
  }
}

async function countedCeiling(
  input: UncountedInput,
  client: AbortSignal,
  rate: RateState | undefined,
): Promise<Ceiling> {
  try {
    return await input.ceilingByCount(client);
  } catch (thrown) {
    throw thrown instanceof Fault ? new RefusedRequest(thrown, rate) : thrown;
  }
}

function admissionRequest<C extends Call<unknown>, Q extends Quote>({
  call,
  quote,
  parts,
  streamed,
}: LedgerQuestion<C, Q>): AdmissionRequest {
  const { endpoint, model } = quote.route;
  return {
    requestId: call.requestId,
    caller: call.caller,
    rate: rateKindOf(call.selector.type),
    endpoint: endpoint.code,
    model: model.id,
    price: quote.price,
    priceGroup: quote.route.priceGroup,
    validUntil: quote.route.validUntil,
    ceiling: quote.ceiling,
    counting: countingOf(quote),
    leastShare: quote.leastShare,
    stream: streamed,
    client: call.client,
    limits: parts.catalog().limits,
  };
}

function countingOf({ uncounted, mayBeTooLong }: Quote): AdmissionRequest['counting'] {
  return uncounted && (mayBeTooLong === true ? 'first' : 'if_dear');
}

/**
 * A bad token is reported first, whatever else is wrong with the request. The admission checks the token of a valid
 * request; one that fails earlier is checked here, so that only invalid requests pay for the extra lookup.
 */
export function preferTokenError<T>(
  callerRate: CallerRate,
  parts: RelayParts,
  work: () => T | Promise<T>,
): T | Promise<T> {
  const explain = async (thrown: unknown): Promise<never> => {
    throw await tokenErrorOr(thrown, callerRate, parts);
  };
  try {
    const done = work();
    return done instanceof Promise ? done.catch(explain) : done;
  } catch (thrown) {
    return explain(thrown);
  }
}

export async function tokenErrorOr(
  thrown: unknown,
  callerRate: CallerRate,
  parts: RelayParts,
): Promise<unknown> {
  try {
    const snapshot = await identified(callerRate.caller, parts);
    return thrown instanceof Fault
      ? new RefusedRequest(thrown, rateOf(snapshot, callerRate.rate, parts))
      : thrown;
  } catch (tokenError) {
    return tokenError;
  }
}

interface CallerRate {
  readonly caller: Caller;
  readonly rate: RateKind;
}

/** The current state of an account's rate limit. */
export function rateOf(
  snapshot: AccountSnapshot,
  kind: RateKind,
  parts: Pick<RelayParts, 'catalog'>,
): RateState {
  const { limits: defaults } = parts.catalog();
  const { limits, arrivals, now } = snapshot;
  return kind === 'chat'
    ? rateState(limits.chatPerMinute ?? defaults.chatPerMinute, arrivals.chat, now * 1000)
    : rateState(limits.imagesPerMinute ?? defaults.imagesPerMinute, arrivals.images, now * 1000);
}

export function rateKindOf(type: EndpointType): RateKind {
  return type === 'image_generation' ? 'images' : 'chat';
}

export function admissionSummary(
  call: Call<unknown>,
  quote: Quote,
  admitted: Admitted,
  served?: { readonly upstream: string; readonly parts: RelayParts },
): AdmissionSummary {
  const { choices } = quote.ceiling.kind === 'tokens' ? quote.ceiling : { choices: 0 };
  return {
    requestId: call.requestId,
    accountId: admitted.accountId,
    endpoint: quote.route.endpoint.code,
    model: quote.route.model.id,
    rate: admitted.rate,
    budgetLeft: admitted.budgetLeft,
    held: admitted.held,
    available: admitted.available,
    outputCap: admitted.output * choices,
    dropped: served && call.knobs && droppedNames(call.knobs, call, { quote, ...served }),
    loweredCap: loweredCap(quote, admitted.output),
  };
}

export function loweredCap({ ceiling, askedOutput }: Quote, output: number): LoweredCap | undefined {
  const allowed = ceiling.kind === 'tokens' ? ceiling.output : 0;
  if (output < allowed) return { output, reason: 'balance' };
  return output < (askedOutput ?? allowed) ? { output, reason: 'max_cost' } : undefined;
}

export function invalidToken(): Fault {
  return new Fault(
    'invalid_token',
    'The API token is not valid. It may have been replaced by a newer one, or its account disabled.',
  );
}

function networkNotAllowed(): Fault {
  return new Fault(
    'network_not_allowed',
    "This token may not be used from your network. Its owner's settings name the networks that may.",
  );
}

function modelNotAllowed(): Fault {
  return new Fault(
    'model_not_allowed',
    'This token may not use this model. GET /models lists those that it may.',
    {
      param: 'model',
    },
  );
}

/**
 * The account behind a caller, where nothing is admitted: its token must be valid here and now all the same. By the time at
 * which the store says so, the catalog is the one in force.
 */
export async function identified(
  caller: Caller,
  { ledger, seenGroups, catalog, refreshCatalog }: IdentifyingParts,
): Promise<AccountSnapshot> {
  const snapshot = await ledger.identify(caller);
  if (!snapshot) throw invalidToken();
  const { priceGroup } = snapshot;
  // Another node may have published the group a moment ago. Looked at once: a group may be gone for good.
  const isNew = priceGroup !== undefined && seenGroups?.of(caller) !== priceGroup;
  const isUnknown = isNew && catalog().groups?.has(priceGroup) !== true;
  seenGroups?.saw(caller, priceGroup);
  if (!snapshot.isNetworkAllowed) throw networkNotAllowed();
  const hasEnded = (catalog().validUntil?.() ?? Number.POSITIVE_INFINITY) <= snapshot.now;
  if (isUnknown || hasEnded) await refreshCatalog?.();
  return snapshot;
}

export type IdentifyingParts = Pick<RelayParts, 'ledger' | 'seenGroups' | 'catalog' | 'refreshCatalog'>;

/** Whether a caller's token may use a model; true for a caller whose account is not known. */
export function mayUse(
  caller: Pick<AccountSnapshot, 'tokenLimits'> | undefined,
  endpoint: { readonly code: string },
  model: { readonly id: string },
): boolean {
  const limits = caller?.tokenLimits;
  return limits === undefined || allowsModel(limits, { endpoint: endpoint.code, model: model.id });
}

/** Throws where the account's token may not use the model. */
export function requireModel(account: AccountSnapshot, { endpoint, model }: Quote['route']): void {
  if (!mayUse(account, endpoint, model)) throw modelNotAllowed();
}

const QUOTE_RETRY_MS = 1_000;

function refusalFault(refused: Refused): Fault {
  const { reason, retryAfterMs } = refused;
  switch (reason) {
    case 'invalid_token':
      return invalidToken();
    case 'network_not_allowed':
      return networkNotAllowed();
    case 'model_not_allowed':
      return modelNotAllowed();
    case 'count_first':
      // Used once, and only for requests that can be counted.
      return new Fault('internal_error', 'Something went wrong on our side. Try again later.', {
        detail: reason,
      });
    case 'quote_again':
      return new Fault('service_unavailable', 'The price of this request is being changed. Try again.', {
        retryAfterMs: QUOTE_RETRY_MS,
        detail: reason,
      });
    case 'rate_limit_exceeded':
      return tooManyRequests(retryAfterMs);
    case 'concurrency_limit_exceeded':
      return new Fault(reason, 'Too many concurrent requests. Try again when one has finished.', {
        retryAfterMs,
      });
    case 'insufficient_balance':
    case 'limit_reached':
    case 'funds_on_hold':
    case 'request_exceeds_balance':
      return paymentFault(refused, paymentMessage(refused, reason));
  }
}

function paymentMessage({ isTeam = false, limit }: Refused, reason: keyof typeof PAYMENT_MESSAGES): string {
  if (limit !== undefined && limit !== 'month') return BUDGET_MESSAGE;
  return (isTeam ? TEAM_PAYMENT_MESSAGES : PAYMENT_MESSAGES)[reason];
}

const BUDGET_MESSAGE = "The account's budget is used up";

const PAYMENT_MESSAGES = {
  insufficient_balance: 'The balance is used up. Add funds to continue',
  limit_reached: "The account's monthly limit is reached",
  funds_on_hold: 'The balance is on hold for running requests. Try again when they have finished',
  request_exceeds_balance:
    'The balance does not cover this request. Lower max_tokens, shorten the input or add funds',
} as const;

const TEAM_PAYMENT_MESSAGES = {
  insufficient_balance: "The team's balance is used up. Ask one of its owners to add funds",
  limit_reached: "The team's monthly limit is reached",
  funds_on_hold: "The team's balance is on hold for running requests. Try again when they have finished",
  request_exceeds_balance:
    "The team's balance does not cover this request. Lower max_tokens or shorten the input",
} as const;

function paymentFault(refused: Refused, message: string): Fault {
  const available = formatUsd(refused.available);
  const required = formatUsd(refused.required);
  const { limit, resetsAt, isTeam } = refused;
  const isBudget = limit !== undefined && limit !== 'month';
  return new Fault('payment_required', `${message} (available $${available}, required $${required}).`, {
    retryAfterMs: refused.reason === 'funds_on_hold' ? refused.retryAfterMs : undefined,
    extra: {
      reason: refused.reason,
      available_usd: Number(available),
      required_usd: Number(required),
      ...(isBudget ? { scope: 'account', limit } : isTeam ? { scope: 'team' } : {}),
      ...(isBudget && resetsAt !== undefined ? { resets_at: new Date(resetsAt).toISOString() } : {}),
    },
  });
}

function costsAtMost(quote: Quote, maxCost: NanoUsd): boolean {
  return holdFor(quote, askedOutputOf(quote) ?? 0) <= maxCost;
}

/**
 * The quote with an output cap that keeps the most expensive outcome within what the client allows. The bound on the
 * input may be too loose for that, so it is counted. Throws a 402 with the cost that would be enough.
 */
async function withinMaxCost<Q extends Quote>(quote: Q, maxCost: NanoUsd): Promise<Q> {
  const { price } = quote;
  const ceiling = quote.uncounted ? await quote.uncounted.ceilingByCount() : quote.ceiling;
  const output = affordableCap({ price, ceiling }, maxCost);
  if (output === undefined) throw maxCostTooLow(maxCost, cheapestUseful({ price, ceiling }));
  return {
    ...quote,
    ceiling: ceiling.kind === 'tokens' ? { ...ceiling, output } : ceiling,
    askedOutput: askedOutputOf(quote),
    uncounted: undefined,
    mayBeTooLong: undefined,
  };
}

function askedOutputOf({ ceiling }: Quote): number | undefined {
  return ceiling.kind === 'tokens' ? ceiling.output : undefined;
}

function maxCostTooLow(maxCost: NanoUsd, required: NanoUsd): Fault {
  const [allowed, needed] = [formatUsd(maxCost), formatUsd(required)];
  return new Fault(
    'payment_required',
    `The request may cost more than max_cost_usd allows (allowed $${allowed}, required $${needed}).`,
    {
      param: 'max_cost_usd',
      extra: {
        reason: 'max_cost_too_low',
        max_cost_usd: Number(allowed),
        required_usd: Number(needed),
      },
    },
  );
}

/** The catalog with the prices of the group in which the caller's wallet was last seen. */
export function catalogOf(parts: Pick<RelayParts, 'catalog' | 'seenGroups'>, caller: Caller): Catalog {
  const { seenGroups } = parts;
  return seenGroups && seenGroups.known.size > 0 ? seenGroups.view(parts.catalog(), caller) : parts.catalog();
}

/** What a call asks for, at the caller's price. Throws the fault that the client gets. */
export function routeOf(call: Pick<Call<unknown>, 'caller' | 'selector'>, parts: RelayParts): Route {
  return resolve(catalogOf(parts, call.caller), call.selector);
}
