import { Stripe } from 'stripe';
import { checkForm, formText, parseForm, StripeRefusal, type FormValue } from './stripe-form.ts';
import {
  disputeObject,
  eventObject,
  intentObject,
  paymentError,
  refundObject,
  sessionObject,
  setupObject,
  type DisputeObject,
  type EventObject,
  type IntentObject,
  type RefundObject,
  type SessionObject,
} from './stripe-objects.ts';
import {
  answered,
  checkHeaders,
  EVENT_LIST,
  failed,
  noSuch,
  PAYMENT_SESSION,
  SAVED_CARD_INTENT,
  SETUP_SESSION,
  STRIPE_KEY,
  textsOf,
  type StandInAnswer,
} from './stripe-rules.ts';

export const WEBHOOK_SECRET = 'whsec_canaryofthewebhooksecret';

/** Saved cards by what happens when they are charged. */
export const GOOD_CARD = 'pm_card_visa';
export const POOR_CARD = 'pm_card_chargeDeclinedInsufficientFunds';
export const CAUTIOUS_CARD = 'pm_card_authenticationRequired';

/**
 * Stripe over real HTTP, as strict as its reference: keys, versions, form encoding, unknown and missing parameters, idempotency
 * keys, pages of events. What a payer or a bank would do is done by the test; each act is an event in its list, which the
 * test delivers with a signature by Stripe's own package, or does not. Sources: https://docs.stripe.com/api/idempotent_requests,
 * /api/pagination, /api/errors, /api/versioning, /api/events/list, /webhooks/signature.
 */
export class StripeStandIn {
  readonly #server: Bun.Server<undefined>;
  readonly #answers = new Map<string, { readonly request: string; readonly answer: StandInAnswer }>();
  readonly #intents = new Map<string, IntentObject>();
  readonly #sessions = new Map<string, SessionObject>();
  /** What the intent of a session will have. */
  readonly #intentData = new Map<string, { [key: string]: FormValue }>();
  readonly #customers = new Set<string>();
  readonly #reversals = new Map<string, RefundObject | DisputeObject>();
  readonly #package = new Stripe(STRIPE_KEY);
  /** Oldest first. */
  readonly events: EventObject[] = [];
  /** Every request that reached it: method, path and form. */
  readonly calls: { readonly call: string; readonly form: { [key: string]: FormValue } }[] = [];
  /** Seconds since 1970, by Stripe's clock. */
  clock = Math.floor(Date.now() / 1000);
  /** What happens to the next requests instead of an answer. `lost`: it is done, and the answer does not arrive. */
  readonly failures: ('lost' | 'refused_before')[] = [];
  /** Its list of events is empty, as if all of them were late. */
  readonly eventsHidden = { on: false };
  #made = 0;

  constructor() {
    this.#server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#respond(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** For a gateway that is to use it. */
  get env(): Record<string, string> {
    return {
      TOLLGATE_STRIPE_SECRET_KEY: STRIPE_KEY,
      TOLLGATE_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      TOLLGATE_STRIPE_ADDRESS: this.url,
    };
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  /** An event as Stripe sends it, signed by its package: body and signature. */
  async signed(event: EventObject, nowMs = Date.now(), secret = WEBHOOK_SECRET): Promise<[string, string]> {
    const payload = JSON.stringify(event, undefined, 2);
    const timestamp = Math.floor(nowMs / 1000);
    const header = { payload, secret, timestamp };
    return [payload, await this.#package.webhooks.generateTestHeaderStringAsync(header)];
  }

  async deliver(gatewayUrl: string, event: EventObject, more: Delivery = {}): Promise<Response> {
    const [payload, signature] = await this.signed(event, more.at, more.secret);
    return await fetch(`${gatewayUrl}/webhooks/stripe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
      body: more.body ?? payload,
    });
  }

  /** The payer enters a card on the page of a session. Both events of one payment, the session's first. */
  pay(
    sessionId: string,
    changes: { amount?: number; currency?: string; account?: string } = {},
  ): EventObject[] {
    const session = this.session(sessionId);
    if (session.status !== 'open') throw new Error(`session ${sessionId} is ${session.status}`);
    if (session.mode === 'setup') return this.#saveCard(session);
    const amount = changes.amount ?? session.amount_total ?? 0;
    const currency = changes.currency ?? session.currency ?? 'usd';
    const future = this.#intentData.get(sessionId)?.['setup_future_usage'];
    const intent = intentObject({
      id: this.#id('pi'),
      amount,
      amount_received: amount,
      currency,
      customer: session.customer,
      metadata: {
        ...this.#metadata(session.id),
        ...(changes.account === undefined ? {} : { tollgate_account: changes.account }),
      },
      payment_method: GOOD_CARD,
      setup_future_usage: typeof future === 'string' ? future : null,
    });
    this.#intents.set(intent.id, intent);
    const paid: SessionObject = {
      ...session,
      amount_total: amount,
      currency,
      client_reference_id: changes.account ?? session.client_reference_id,
      payment_intent: intent.id,
      payment_status: 'paid',
      status: 'complete',
      url: null,
    };
    this.#sessions.set(sessionId, paid);
    return [this.#event('checkout.session.completed', paid), this.#event('payment_intent.succeeded', intent)];
  }

  /** The payer's card is declined; the page stays open. */
  decline(sessionId: string): EventObject {
    const session = this.session(sessionId);
    const intent = intentObject({
      id: this.#id('pi'),
      amount: session.amount_total ?? 0,
      metadata: this.#metadata(session.id),
      status: 'requires_payment_method',
      last_payment_error: paymentError('card_declined', 'insufficient_funds'),
    });
    return this.#event('payment_intent.payment_failed', intent);
  }

  expire(sessionId: string): EventObject {
    const session: SessionObject = { ...this.session(sessionId), status: 'expired', url: null };
    this.#sessions.set(sessionId, session);
    return this.#event('checkout.session.expired', session);
  }

  /** Part or all of what was paid goes back; twice the event, as Stripe sends it. */
  refund(intentId: string, amount?: number): { readonly id: string; readonly events: EventObject[] } {
    const intent = this.intent(intentId);
    const refund = refundObject(this.#id('re'), intent, amount ?? intent.amount, 'succeeded');
    this.#reversals.set(refund.id, refund);
    const pending = { ...refund, status: 'pending' };
    return {
      id: refund.id,
      events: [this.#event('refund.created', pending), this.#event('refund.updated', refund)],
    };
  }

  failRefund(refundId: string): EventObject {
    return this.#event('refund.failed', this.#change(refundId, 'failed'));
  }

  dispute(intentId: string, amount?: number): { readonly id: string; readonly events: EventObject[] } {
    const intent = this.intent(intentId);
    const dispute = disputeObject(this.#id('du'), intent, amount ?? intent.amount, 'needs_response');
    this.#reversals.set(dispute.id, dispute);
    return {
      id: dispute.id,
      events: [
        this.#event('charge.dispute.created', dispute),
        this.#event('charge.dispute.funds_withdrawn', dispute),
      ],
    };
  }

  closeDispute(disputeId: string, status: 'won' | 'lost'): EventObject[] {
    const dispute = this.#change(disputeId, status);
    const closed = this.#event('charge.dispute.closed', dispute);
    return status === 'won' ? [closed, this.#event('charge.dispute.funds_reinstated', dispute)] : [closed];
  }

  session(id: string): SessionObject {
    const session = this.#sessions.get(id);
    if (!session) throw new Error(`there is no session ${id}`);
    return session;
  }

  intent(id: string): IntentObject {
    const intent = this.#intents.get(id);
    if (!intent) throw new Error(`there is no intent ${id}`);
    return intent;
  }

  /** Intents that were made with a saved card, oldest first. */
  get charged(): readonly IntentObject[] {
    return [...this.#intents.values()].filter(({ off_session: offSession }) => offSession === true);
  }

  #saveCard(session: SessionObject): EventObject[] {
    const setup = setupObject(this.#id('seti'), this.#metadata(session.id), GOOD_CARD);
    const complete: SessionObject = {
      ...session,
      payment_status: 'no_payment_required',
      setup_intent: setup.id,
      status: 'complete',
      url: null,
    };
    this.#sessions.set(session.id, complete);
    return [
      this.#event('checkout.session.completed', complete),
      this.#event('setup_intent.succeeded', setup),
    ];
  }

  #metadata(sessionId: string): Record<string, string> {
    return textsOf(this.#intentData.get(sessionId)?.['metadata']);
  }

  #change(id: string, status: string): RefundObject | DisputeObject {
    const before = this.#reversals.get(id);
    if (!before) throw new Error(`there is no ${id}`);
    const after = { ...before, status };
    this.#reversals.set(id, after);
    return after;
  }

  #event(type: string, object: { readonly id: string }): EventObject {
    const event = eventObject(this.#id('evt'), { type, created: this.clock, object });
    this.events.push(event);
    return event;
  }

  #id(prefix: string): string {
    return `${prefix}_standin${String(++this.#made).padStart(6, '0')}`;
  }

  async #respond(request: Request): Promise<Response> {
    const failure = this.failures.shift();
    if (failure === 'refused_before') return failed();
    try {
      const answer = await this.#answer(request);
      if (failure === 'lost') return failed({ 'stripe-should-retry': 'false' });
      return Response.json(answer.body, { status: answer.status, headers: { 'request-id': 'req_standin' } });
    } catch (error) {
      if (error instanceof StripeRefusal) return Response.json(error.body, { status: error.status });
      throw error;
    }
  }

  async #answer(request: Request): Promise<StandInAnswer> {
    const url = new URL(request.url);
    const text = request.method === 'GET' ? url.search.slice(1) : await request.text();
    checkHeaders(request, text);
    const form = parseForm(text);
    const call = `${request.method} ${url.pathname}`;
    this.calls.push({ call, form });
    const key = request.headers.get('idempotency-key');
    if (request.method !== 'POST' || key === null) return this.#perform(call, form);
    const before = this.#answers.get(key);
    if (before) {
      if (before.request === `${call} ${text}`) return before.answer;
      throw new StripeRefusal(400, {
        type: 'idempotency_error',
        message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
      });
    }
    // A request that was refused for its parameters is not remembered; one that was begun is, whatever became of it.
    const answer = this.#perform(call, form);
    this.#answers.set(key, { request: `${call} ${text}`, answer });
    return answer;
  }

  #perform(call: string, form: { [key: string]: FormValue }): StandInAnswer {
    if (call === 'POST /v1/checkout/sessions') return this.#createSession(form);
    if (call === 'POST /v1/customers') return this.#createCustomer(form);
    if (call === 'POST /v1/payment_intents') return this.#charge(form);
    if (call === 'GET /v1/events') return this.#listEvents(form);
    const [, method] = /^POST \/v1\/payment_methods\/(\w+)\/detach$/.exec(call) ?? [];
    if (method !== undefined) return answered({ id: method, object: 'payment_method', customer: null });
    const [, customer] = /^DELETE \/v1\/customers\/(\w+)$/.exec(call) ?? [];
    if (customer !== undefined) {
      if (!this.#customers.delete(customer)) throw noSuch('customer', customer);
      return answered({ id: customer, object: 'customer', deleted: true });
    }
    throw new StripeRefusal(404, { message: `Unrecognized request URL (${call}).` });
  }

  #createSession(form: { [key: string]: FormValue }): StandInAnswer {
    const mode = formText(form, 'mode');
    checkForm(form, mode === 'setup' ? SETUP_SESSION : PAYMENT_SESSION);
    const customer = formText(form, 'customer') ?? null;
    if (customer !== null && !this.#customers.has(customer)) throw noSuch('customer', customer);
    const line = form['line_items'];
    const cents = typeof line === 'object' ? formText(line, '0', 'price_data', 'unit_amount') : undefined;
    const session = sessionObject({
      id: this.#id('cs_test'),
      mode: mode === 'setup' ? 'setup' : 'payment',
      amount_total: cents === undefined ? null : Number(cents),
      currency: cents === undefined ? null : 'usd',
      client_reference_id: formText(form, 'client_reference_id') ?? null,
      customer,
      metadata: textsOf(form['metadata']),
    });
    const data = form[mode === 'setup' ? 'setup_intent_data' : 'payment_intent_data'];
    this.#intentData.set(session.id, typeof data === 'object' ? data : {});
    this.#sessions.set(session.id, session);
    return answered(session);
  }

  #createCustomer(form: { [key: string]: FormValue }): StandInAnswer {
    checkForm(form, { 'metadata?': { '*': /^.{0,500}$/ } });
    const id = this.#id('cus');
    this.#customers.add(id);
    return answered({ id, object: 'customer', metadata: textsOf(form['metadata']) });
  }

  #charge(form: { [key: string]: FormValue }): StandInAnswer {
    checkForm(form, SAVED_CARD_INTENT);
    const customer = formText(form, 'customer') ?? '';
    const method = formText(form, 'payment_method') ?? '';
    if (!this.#customers.has(customer)) throw noSuch('customer', customer);
    if (![GOOD_CARD, POOR_CARD, CAUTIOUS_CARD].includes(method)) throw noSuch('payment_method', method);
    const amount = Number(formText(form, 'amount'));
    const base = {
      id: this.#id('pi'),
      amount,
      customer,
      metadata: textsOf(form['metadata']),
      off_session: true,
    };
    if (method === GOOD_CARD) {
      const intent = intentObject({ ...base, amount_received: amount, payment_method: method });
      this.#intents.set(intent.id, intent);
      this.#event('payment_intent.succeeded', intent);
      return answered(intent);
    }
    const [code, decline] =
      method === POOR_CARD
        ? (['card_declined', 'insufficient_funds'] as const)
        : (['authentication_required'] as const);
    const error = paymentError(code, decline);
    const declined = intentObject({ ...base, status: 'requires_payment_method', last_payment_error: error });
    this.#event('payment_intent.payment_failed', declined);
    const body = { error: { ...error, charge: declined['latest_charge'], payment_intent: declined } };
    return { status: 402, body };
  }

  /** https://docs.stripe.com/api/events/list: the newest first, at most a hundred, at most twenty types. */
  #listEvents(form: { [key: string]: FormValue }): StandInAnswer {
    checkForm(form, EVENT_LIST);
    const types = new Set(Object.values(textsOf(form['types'])));
    if (types.size > 20) throw new StripeRefusal(400, { message: 'At most 20 types.', param: 'types' });
    const since = Number(formText(form, 'created', 'gte') ?? 0);
    const found = this.events
      .filter(({ type, created }) => created >= since && (types.size === 0 || types.has(type)))
      .filter(() => !this.eventsHidden.on)
      .toReversed();
    const after = formText(form, 'starting_after');
    const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && start === 0) throw noSuch('event', after);
    const limit = Number(formText(form, 'limit') ?? 10);
    const data = found.slice(start, start + limit);
    return answered({ object: 'list', url: '/v1/events', has_more: start + limit < found.length, data });
  }
}

interface Delivery {
  readonly secret?: string;
  /** When it is signed, milliseconds since 1970. */
  readonly at?: number;
  /** Instead of what was signed. */
  readonly body?: string;
}
