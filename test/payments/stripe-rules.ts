import { StripeRefusal, type FormRules, type FormValue } from './stripe-form.ts';

export const STRIPE_KEY = 'sk_test_canaryofthestripekey';

/** What is taken and refused here is that of this version; https://docs.stripe.com/changelog says what others do. */
export const API_VERSION = '2026-10-28.endive';

export interface StandInAnswer {
  readonly status: number;
  readonly body: object;
}

const ANY = /^.{1,5000}$/s;
const OURS: FormRules = { tollgate_payment: /^pay_\w+$/, tollgate_account: /^(acc|team)_\w+$/ };
const SESSION: FormRules = {
  'client_reference_id?': /^.{1,200}$/,
  'customer?': /^cus_\w+$/,
  'metadata?': OURS,
  'allowed_payment_method_types?': { '*': /^card$/ },
  success_url: /^https?:\/\//,
  'cancel_url?': /^https?:\/\//,
};
export const PAYMENT_SESSION: FormRules = {
  ...SESSION,
  mode: /^payment$/,
  line_items: {
    '*': {
      quantity: /^[1-9]\d*$/,
      // The least that Stripe takes is half a dollar: https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts
      price_data: {
        currency: /^[a-z]{3}$/,
        unit_amount: /^(?:[5-9]\d|[1-9]\d{2,7})$/,
        product_data: { name: ANY },
      },
    },
  },
  'payment_intent_data?': { 'metadata?': OURS, 'setup_future_usage?': /^(off_session|on_session)$/ },
};
/** The currency may be missing because the types of payment are given. */
export const SETUP_SESSION: FormRules = {
  ...SESSION,
  mode: /^setup$/,
  'setup_intent_data?': { 'metadata?': OURS },
};
export const SAVED_CARD_INTENT: FormRules = {
  amount: /^(?:[5-9]\d|[1-9]\d{2,7})$/,
  currency: /^[a-z]{3}$/,
  customer: /^cus_\w+$/,
  payment_method: /^pm_\w+$/,
  'allowed_payment_method_types?': { '*': /^card$/ },
  confirm: /^true$/,
  off_session: /^true$/,
  'metadata?': OURS,
};
export const EVENT_LIST: FormRules = {
  'created?': { gte: /^\d+$/ },
  'types?': { '*': /^[a-z_.]+$/ },
  'limit?': /^(?:[1-9]\d?|100)$/,
  'starting_after?': /^evt_\w+$/,
};

export function checkHeaders(request: Request, text: string): void {
  if (request.headers.get('authorization') !== `Bearer ${STRIPE_KEY}`)
    throw new StripeRefusal(401, { message: 'Invalid API Key provided.' });
  if (request.headers.get('stripe-version') !== API_VERSION)
    throw new StripeRefusal(400, { message: 'Invalid Stripe API version.' });
  const type = request.headers.get('content-type') ?? '';
  if (request.method === 'POST' && text !== '' && !type.startsWith('application/x-www-form-urlencoded'))
    throw new StripeRefusal(400, { message: `Invalid request (content type ${type}).` });
}

export function noSuch(what: string, id: string): StripeRefusal {
  return new StripeRefusal(what === 'event' ? 400 : 404, {
    code: 'resource_missing',
    message: `No such ${what}: '${id}'`,
    param: what,
  });
}

export function answered(body: object): StandInAnswer {
  return { status: 200, body };
}

export function textsOf(value: FormValue | undefined): Record<string, string> {
  if (typeof value !== 'object') return {};
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
}

/** https://docs.stripe.com/error-low-level: an answer may say whether asking again makes sense. */
export function failed(headers: Record<string, string> = {}): Response {
  const error = { type: 'api_error', message: 'An unknown error occurred.' };
  return Response.json({ error }, { status: 500, headers });
}
