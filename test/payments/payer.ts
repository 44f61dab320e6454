import type { Gateway } from '../support/gateway.ts';
import type { StripeStandIn } from './stripe-stand-in.ts';

export const PASSWORD = 'a perfectly fine phrase';

/** Somebody with a session in the console, who pays. */
export class Payer {
  readonly accountId: string;
  readonly #gateway: Gateway;
  readonly #cookie: string;

  private constructor(gateway: Gateway, accountId: string, cookie: string) {
    this.#gateway = gateway;
    this.accountId = accountId;
    this.#cookie = cookie;
  }

  /** Signs up; the first one must be the administrator. */
  static async signUp(gateway: Gateway, email: string): Promise<Payer> {
    const response = await postJson(gateway, '/api/auth/sign-up/email', {
      email,
      password: PASSWORD,
      name: '',
    });
    if (!response.ok) throw new Error(`sign-up failed: ${await response.text()}`);
    const row = await gateway.tollgate.services.store.db
      .selectFrom('account')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    return new Payer(gateway, row.id, cookieOf(response));
  }

  static async admin(gateway: Gateway): Promise<Payer> {
    const [, token = ''] = /\/setup\/(.+)$/.exec(gateway.tollgate.setupLink ?? '') ?? [];
    const email = 'operator@example.com';
    const response = await postJson(gateway, '/api/console/setup', { token, email, password: PASSWORD });
    if (!response.ok) throw new Error(`setup failed: ${await response.text()}`);
    const row = await gateway.tollgate.services.store.db
      .selectFrom('account')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    return new Payer(gateway, row.id, cookieOf(response));
  }

  async get<T>(path: string): Promise<T> {
    const response = await this.#gateway.fetch(`/api/console/${path}`, { headers: { cookie: this.#cookie } });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  async send(method: 'POST' | 'PUT' | 'PATCH', path: string, body: unknown): Promise<Response> {
    return await this.#gateway.fetch(`/api/console/${path}`, {
      method,
      headers: { cookie: this.#cookie, origin: this.#gateway.url, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** Begins a top-up and returns the session at Stripe. */
  async checkout(
    amountUsd: string,
    saveCard = false,
    wallet: 'own' | 'team' = 'own',
  ): Promise<{ sessionId: string; paymentId: string }> {
    const response = await this.send('POST', `payments/checkout?wallet=${wallet}`, { amountUsd, saveCard });
    if (!response.ok) throw new Error(`checkout: ${await response.text()}`);
    const { url, paymentId } = (await response.json()) as { url: string; paymentId: string };
    return { sessionId: url.split('/').at(-1) ?? '', paymentId };
  }

  /** Pays a top-up; its events are not delivered. */
  async pays(stripe: StripeStandIn, amountUsd: string, wallet: 'own' | 'team' = 'own') {
    const { sessionId, paymentId } = await this.checkout(amountUsd, false, wallet);
    const events = stripe.pay(sessionId);
    return { events, paymentId, intentId: stripe.session(sessionId).payment_intent ?? '' };
  }

  async balance(): Promise<number> {
    const row = await this.#gateway.tollgate.services.store.db
      .selectFrom('account')
      .select('balance')
      .where('id', '=', this.accountId)
      .executeTakeFirstOrThrow();
    return row.balance;
  }
}

function postJson(gateway: Gateway, path: string, body: unknown): Promise<Response> {
  return gateway.fetch(path, {
    method: 'POST',
    headers: { origin: gateway.url, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

function cookieOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}
