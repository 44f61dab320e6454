import type { BrowserContext, Route } from 'playwright-core';
import { formText } from './stripe-form.ts';
import type { StripeStandIn } from './stripe-stand-in.ts';
import { textsOf } from './stripe-rules.ts';

/** Numbers of https://docs.stripe.com/testing; what is typed stays on this page. */
export const CARDS = { good: '4242424242424242', poor: '4000000000009995' };
export const CARD_CODE = '739';

/** The page of Stripe's where a card is entered, in place of checkout.stripe.com. A payment's events are delivered at once. */
export class CheckoutPage {
  readonly #stripe: StripeStandIn;
  readonly #gatewayUrl: () => string;

  constructor(stripe: StripeStandIn, gatewayUrl: () => string) {
    this.#stripe = stripe;
    this.#gatewayUrl = gatewayUrl;
  }

  async serveTo(context: BrowserContext): Promise<void> {
    await context.route('https://checkout.stripe.com/**', (route) => this.#respond(route));
  }

  async #respond(route: Route): Promise<void> {
    const request = route.request();
    const sessionId = new URL(request.url()).pathname.split('/').at(-1) ?? '';
    if (request.method() === 'GET') return await show(route, '');
    const card = new URLSearchParams(request.postData() ?? '').get('card')?.replaceAll(' ', '') ?? '';
    if (card !== CARDS.good) {
      await this.#stripe.deliver(this.#gatewayUrl(), this.#stripe.decline(sessionId));
      return await show(route, 'Your card has insufficient funds. Try a different card.');
    }
    for (const event of this.#stripe.pay(sessionId)) await this.#stripe.deliver(this.#gatewayUrl(), event);
    await leadTo(route, this.#returnUrl(sessionId));
  }

  /** As it was asked for when the session was made. */
  #returnUrl(sessionId: string): string {
    const payment = this.#stripe.session(sessionId).metadata['tollgate_payment'];
    const asked = this.#stripe.calls.find(
      ({ form }) => textsOf(form['metadata'])['tollgate_payment'] === payment,
    );
    return formText(asked?.form ?? {}, 'success_url') ?? '';
  }
}

/** By a page of its own: what a redirect leads to could not be answered by the test. */
export async function leadTo(route: Route, url: string): Promise<void> {
  const body = `<!doctype html><script>location.replace(${JSON.stringify(url)})</script>`;
  await route.fulfill({ contentType: 'text/html', body });
}

async function show(route: Route, problem: string): Promise<void> {
  await route.fulfill({
    contentType: 'text/html',
    body: `<!doctype html><title>Checkout</title><h1>Pay with card</h1><p role="alert">${problem}</p>
      <form method="post"><label>Card number <input name="card"></label>
      <label>Security code <input name="code"></label><button>Pay</button></form>`,
  });
}
