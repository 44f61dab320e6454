import { describe, expect, test } from 'bun:test';
import type { Admission, AdmissionRequest, AccountSnapshot, RefusalReason } from '../ledger/port.ts';
import { ClientLeftFault, Fault } from '../std/fault.ts';
import { nanoUsd, type NanoUsd } from '../std/money.ts';
import type { RequestRecord } from '../std/request-record.ts';
import {
  admissionSummary,
  askAgain,
  askLedger,
  noteAdmitted,
  preferTokenError,
  quoteOf,
  rateKindOf,
  RefusedRequest,
} from './admission.ts';
import { connectionOf, type Call, type Quote, type RelayParts } from './call.ts';

/** How often the ledger is asked about one request, and what is told to whom; the decision itself is the ledger's. */

const RATE = { limit: 60, remaining: 59, resetMs: 1_000 };
const ADMITTED: Admission = {
  kind: 'admitted',
  accountId: 'acc_1',
  held: nanoUsd(40),
  output: 100,
  available: nanoUsd(60),
  rate: RATE,
} as Extract<Admission, { kind: 'admitted' }>;

const refused = (reason: RefusalReason, retryAfterMs?: number): Admission => ({
  kind: 'refused',
  reason,
  retryAfterMs,
  available: nanoUsd(3),
  required: nanoUsd(40),
  rate: RATE,
  ...(reason === 'limit_reached' && { limit: 'month' as const }),
});

const QUOTE = {
  route: { endpoint: { code: 'svc_chat' }, model: { id: 'm' } },
  price: { kind: 'tokens' },
  ceiling: { kind: 'tokens', input: 900, output: 100, choices: 1 },
} as unknown as Quote;

interface World {
  readonly asked: AdmissionRequest[];
  readonly told: unknown[];
  readonly client: AbortController;
  readonly ask: (quote?: Quote) => Promise<unknown>;
}

/** A ledger that gives these answers in turn, the last one for ever; and a card that can pay unless told otherwise. */
function world(answers: readonly Admission[], card?: (call: number) => boolean): World {
  const asked: AdmissionRequest[] = [];
  const told: unknown[] = [];
  const client = new AbortController();
  let payments = 0;
  const parts = {
    ledger: {
      admit: (request: AdmissionRequest) =>
        Promise.resolve(answers[Math.min(asked.push(request), answers.length) - 1]),
      identify: () => Promise.resolve({ isNetworkAllowed: true, now: 0 }),
    },
    catalog: () => ({ limits: {} }),
    metrics: { refused: (reason: string) => void told.push(['refused', reason]) },
    onLimitReached: (_caller: unknown, limit: string) => void told.push(['limit reached', limit]),
    topUps: card && {
      admitted: (account: string, available: NanoUsd) => void told.push(['admitted', account, available]),
      covered: (_caller: unknown, available: NanoUsd) => {
        told.push(['asked the card', available]);
        return Promise.resolve(card(++payments));
      },
    },
  } as unknown as RelayParts;
  const call = {
    requestId: 'req_1',
    caller: { kind: 'token', hash: 'h' },
    selector: { type: 'chat' },
    client: 'test',
    connection: connectionOf(client.signal),
  } as unknown as Call<unknown>;
  const ask = async (quote = QUOTE) => {
    const question = { operation: { quote: () => quote }, call, quote, parts, streamed: false };
    try {
      return await admitted(question);
    } catch (error) {
      return error;
    }
  };
  return { asked, told, client, ask };
}

const SHORT_OF_MONEY = ['insufficient_balance', 'request_exceeds_balance', 'funds_on_hold'] as const;
const OTHER_REFUSALS = [
  'invalid_token',
  'rate_limit_exceeded',
  'concurrency_limit_exceeded',
  'limit_reached',
] as const;

describe('an admission', () => {
  test('asks the ledger once, and tells automatic top-up what is left', async () => {
    const { ask, asked, told } = world([ADMITTED], () => true);
    expect(await ask()).toBe(ADMITTED);
    expect(asked).toHaveLength(1);
    expect(told).toEqual([['admitted', 'acc_1', nanoUsd(60)]]);
  });

  test.each(SHORT_OF_MONEY)('that is refused with %s asks the card, and the ledger again', async (reason) => {
    const { ask, asked, told } = world([refused(reason), ADMITTED], () => true);
    expect(await ask()).toBe(ADMITTED);
    expect(asked).toHaveLength(2);
    expect(told).toEqual([
      ['asked the card', nanoUsd(3)],
      ['admitted', 'acc_1', nanoUsd(60)],
    ]);
  });

  test.each(OTHER_REFUSALS)('that is refused with %s never asks the card', async (reason) => {
    const { ask, asked, told } = world([refused(reason), ADMITTED], () => true);
    const code = reason === 'limit_reached' ? 'payment_required' : reason;
    expect(await ask()).toMatchObject({ code, rate: RATE });
    expect(asked).toHaveLength(1);
    const limit = reason === 'limit_reached' ? [['limit reached', 'month']] : [];
    expect(told).toEqual([['refused', reason], ...limit]);
  });

  test('waits for money from a card three times at most: others may spend it first', async () => {
    const { ask, asked, told } = world([refused('insufficient_balance')], () => true);
    expect(await ask()).toBeInstanceOf(RefusedRequest);
    expect(asked).toHaveLength(4);
    expect(told.filter((one) => Array.isArray(one) && one[0] === 'asked the card')).toHaveLength(3);
  });

  test('does not ask again when the card pays nothing', async () => {
    const { ask, asked, told } = world([refused('insufficient_balance')], () => false);
    expect(await ask()).toMatchObject({
      code: 'payment_required',
      extra: { reason: 'insufficient_balance' },
    });
    expect(asked).toHaveLength(1);
    expect(told).toEqual([
      ['asked the card', nanoUsd(3)],
      ['refused', 'insufficient_balance'],
    ]);
  });

  test('of a client that left while the card paid is none: nothing is held for nobody', async () => {
    const { ask, asked, client } = world([refused('insufficient_balance'), ADMITTED], () => {
      client.abort();
      return true;
    });
    expect(await ask()).toBeInstanceOf(ClientLeftFault);
    expect(asked).toHaveLength(1);
  });
});

test('a request whose price changes again and again is quoted six times, and can be tried again later', async () => {
  const { ask, asked } = world([refused('quote_again')]);
  expect(await ask()).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
  expect(asked).toHaveLength(6);
});

test('a request that may cost more than its client allows is lowered to that, or told what would be enough', async () => {
  const price = { kind: 'tokens', input: 1_000_000, cachedInput: 1_000_000, output: 1_000_000 } as const;
  const quote = { ...QUOTE, price, ceiling: { ...QUOTE.ceiling, output: 1_000 } } as Quote;
  const snapshot = { isNetworkAllowed: true, limits: {}, arrivals: { chat: 0, images: 0 }, now: 0 };
  const parts = {
    ledger: { identify: () => Promise.resolve(snapshot) },
    catalog: () => ({ limits: { chatPerMinute: 60, imagesPerMinute: 60 } }),
  } as unknown as RelayParts;
  const within = async (nano: number) => {
    const call = { maxCost: nanoUsd(nano), caller: { kind: 'token', hash: 'h' } } as unknown as Call<unknown>;
    return await quoteOf({ quote: () => quote }, call, parts);
  };
  expect(await within(1_900)).toBe(quote);
  expect((await within(1_500)).ceiling).toEqual({ ...quote.ceiling, output: 600 } as never);
  expect(await within(1_000).catch((error: unknown) => error)).toMatchObject({
    code: 'payment_required',
    param: 'max_cost_usd',
    extra: { reason: 'max_cost_too_low', max_cost_usd: 0.000001, required_usd: 0.000001156 },
  });
});

describe('an input that the ledger wants counted', () => {
  const counted = { kind: 'tokens', input: 10, output: 100, choices: 1 } as const;

  test('is counted once, and the request asked again with what was counted', async () => {
    const { ask, asked } = world([refused('count_first'), ADMITTED]);
    expect(await ask({ ...QUOTE, uncounted: { ceilingByCount: () => Promise.resolve(counted) } })).toBe(
      ADMITTED,
    );
    expect(asked.map(({ ceiling, counting }) => [ceiling, counting])).toEqual([
      [QUOTE.ceiling, 'if_dear'],
      [counted, undefined],
    ]);
  });

  test('that may be too long for the model is counted first of all', async () => {
    const { ask, asked } = world([ADMITTED]);
    const quote = {
      ...QUOTE,
      mayBeTooLong: true,
      uncounted: { ceilingByCount: () => Promise.resolve(counted) },
    } as Quote;
    await ask(quote);
    expect(asked.map(({ counting }) => counting)).toEqual(['first']);
  });

  test('and is too long is refused with the state of the rate limit', async () => {
    const { ask, asked } = world([refused('count_first'), ADMITTED]);
    const tooLong = new Fault('invalid_field', 'too long');
    const quote = { ...QUOTE, uncounted: { ceilingByCount: () => Promise.reject(tooLong) } } as Quote;
    expect(await ask(quote)).toMatchObject({ code: 'invalid_field', message: 'too long', rate: RATE });
    expect(asked).toHaveLength(1);
  });

  test('of a client that left while it was counted is not admitted', async () => {
    const { ask, asked, client } = world([refused('count_first'), ADMITTED]);
    const ceilingByCount = () => {
      client.abort();
      return Promise.resolve(counted);
    };
    expect(await ask({ ...QUOTE, uncounted: { ceilingByCount } })).toBeInstanceOf(ClientLeftFault);
    expect(asked).toHaveLength(1);
  });

  test('of a request that cannot be counted is our mistake, not the client’s', async () => {
    const { ask } = world([refused('count_first')]);
    expect(await ask()).toMatchObject({ code: 'internal_error', detail: 'count_first' });
  });
});

describe('a refusal tells', () => {
  const told = async (reason: RefusalReason, retryAfterMs?: number) => {
    const fault = await world([refused(reason, retryAfterMs)]).ask();
    if (!(fault instanceof RefusedRequest)) throw new Error('not refused');
    return { status: fault.status, message: fault.message, retryAfterMs: fault.retryAfterMs };
  };

  test('what to do, and how long to wait where waiting helps', async () => {
    expect(await told('invalid_token')).toMatchObject({ status: 401, retryAfterMs: undefined });
    expect(await told('rate_limit_exceeded', 700)).toEqual({
      status: 429,
      message: 'Too many requests. Try again in 1 second.',
      retryAfterMs: 700,
    });
    expect(await told('concurrency_limit_exceeded', 50)).toEqual({
      status: 429,
      message: 'Too many concurrent requests. Try again when one has finished.',
      retryAfterMs: 50,
    });
    for (const reason of [...SHORT_OF_MONEY, 'limit_reached'] as const) {
      const retryAfterMs = reason === 'funds_on_hold' ? 90 : undefined;
      expect(await told(reason, 90)).toMatchObject({ status: 402, retryAfterMs });
    }
    expect((await told('limit_reached')).message).toBe(
      "The account's monthly limit is reached (available $0.000000003, required $0.00000004).",
    );
  });

  test('whose balance it is', async () => {
    for (const reason of [...SHORT_OF_MONEY, 'limit_reached'] as const) {
      const own = refused(reason);
      const ofTeam = { ...own, isTeam: true } as Admission;
      const messages = [own, ofTeam].map(async (answer) => String((await world([answer]).ask()) as Fault));
      const [mine, teams] = await Promise.all(messages);
      expect(mine).toMatch(/: (?:The|The account's) (?:balance|monthly limit) /);
      expect(teams).toMatch(/: The team's (?:balance|monthly limit) /);
    }
  });
});

test('a bad token is told before whatever else is wrong, and a good one gets the fault with its rate', async () => {
  const wrong = new Fault('invalid_field', 'n: is not valid');
  const snapshot = {
    isNetworkAllowed: true,
    limits: { chatPerMinute: 7 },
    arrivals: { chat: 0, images: 0 },
    now: 1,
  } as unknown as AccountSnapshot;
  const told = async (known: AccountSnapshot | undefined, work: () => Promise<never>) => {
    const parts = {
      ledger: { identify: () => Promise.resolve(known) },
      catalog: () => ({ limits: { chatPerMinute: 60, imagesPerMinute: 30 } }),
    } as unknown as RelayParts;
    const rate = { caller: { kind: 'token', hash: 'h' }, rate: 'chat' } as never;
    return await Promise.resolve(preferTokenError(rate, parts, work)).catch((error: unknown) => error);
  };
  const throws = (): never => {
    throw wrong;
  };
  for (const work of [throws, () => Promise.reject(wrong)]) {
    expect(await told(undefined, work)).toMatchObject({ code: 'invalid_token' });
    const foreign = { ...snapshot, isNetworkAllowed: false };
    expect(await told(foreign, work)).toMatchObject({ code: 'network_not_allowed' });
    expect(await told(snapshot, work)).toMatchObject({ code: 'invalid_field', rate: { limit: 7 } });
  }
  const broken = new Error('out of memory');
  expect(await told(snapshot, () => Promise.reject(broken))).toBe(broken);
});

test('images have a rate limit of their own; everything else counts as chat', () => {
  expect((['chat', 'image_generation', 'embedding'] as never[]).map(rateKindOf)).toEqual([
    'chat',
    'images',
    'chat',
  ]);
});

test('the summary names a lowered cap only if it is lower than what was asked, for all choices together', () => {
  const call = { requestId: 'req_1' } as unknown as Call<unknown>;
  const quote = (output: number, askedOutput?: number): Quote => ({
    ...QUOTE,
    askedOutput,
    ceiling: { kind: 'tokens', input: 1, output, choices: 3 },
  });
  const summary = (given: Quote) => admissionSummary(call, given, ADMITTED);
  expect(summary(quote(100))).toMatchObject({ outputCap: 300, loweredCap: undefined, dropped: undefined });
  expect(summary(quote(101))).toMatchObject({
    outputCap: 300,
    loweredCap: { output: 100, reason: 'balance' },
  });
  expect(summary(quote(100, 400))).toMatchObject({ loweredCap: { output: 100, reason: 'max_cost' } });
  const images = { ...QUOTE, ceiling: { kind: 'images', images: 1 } } as unknown as Quote;
  expect(summary(images)).toMatchObject({ outputCap: 0, loweredCap: undefined });
});

/** As `relay` does. */
async function admitted(question: Parameters<typeof askLedger>[0]) {
  const answer = await askLedger(question);
  const admission = answer.kind === 'admitted' ? answer : await askAgain(answer, question);
  noteAdmitted(admission, question);
  return admission;
}

test('what was admitted is noted for the log', async () => {
  const requestRecord = {} as RequestRecord;
  const parts = {
    ledger: { admit: () => Promise.resolve(ADMITTED) },
    catalog: () => ({ limits: {} }),
  } as unknown as RelayParts;
  const call = { selector: { type: 'chat' }, requestRecord } as unknown as Call<unknown>;
  const operation = { quote: () => QUOTE };
  const question = { operation, call, quote: QUOTE, parts, streamed: false };
  await admitted(question);
  expect(requestRecord).toEqual({ account: 'acc_1', endpoint: 'svc_chat', model: 'm' } as never);
});
