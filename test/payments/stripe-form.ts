/** What Stripe's API takes: `a[b][0][c]=d`, as in https://docs.stripe.com/api/errors and every example of its reference. */
export type FormValue = string | { [key: string]: FormValue };

export function parseForm(text: string): { [key: string]: FormValue } {
  const form: { [key: string]: FormValue } = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const [, first = '', rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name) ?? [];
    if (first === '')
      throw new StripeRefusal(400, { message: `Invalid parameter name: ${name}`, param: name });
    const path = [first, ...Array.from(rest.matchAll(/\[([^[\]]*)\]/g), ([, key = '']) => key)];
    setAt(form, path, value);
  }
  return form;
}

function setAt(form: { [key: string]: FormValue }, path: readonly string[], value: string): void {
  let at = form;
  for (const [depth, key] of path.entries()) {
    if (depth === path.length - 1) {
      // `types[]=a` counts up by itself.
      at[key === '' ? String(Object.keys(at).length) : key] = value;
      return;
    }
    const next = at[key];
    if (typeof next === 'object') at = next;
    else at = at[key] = {};
  }
}

/** https://docs.stripe.com/api/errors */
export interface StripeErrorBody {
  readonly type?: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  readonly code?: string;
  readonly decline_code?: string;
  readonly message: string;
  readonly param?: string;
  readonly payment_intent?: unknown;
}

export class StripeRefusal extends Error {
  readonly status: number;
  readonly body: { readonly error: StripeErrorBody };

  constructor(status: number, error: StripeErrorBody) {
    super(error.message);
    this.status = status;
    this.body = { error: { type: 'invalid_request_error', ...error } };
  }
}

/** A rule for a parameter: a pattern for a text, or rules for what it holds. `?` at the end of a name: it may be missing. */
export interface FormRules {
  readonly [name: string]: RegExp | FormRules;
}

/** Refuses unknown parameters, missing ones and wrong values, in Stripe's words. `*` stands for any name. */
export function checkForm(form: { [key: string]: FormValue }, rules: FormRules, prefix = ''): void {
  const shown = (name: string): string => (prefix === '' ? name : `${prefix}[${name}]`);
  for (const name of Object.keys(form)) {
    if (rules[name] === undefined && rules[`${name}?`] === undefined && rules['*'] === undefined)
      throw new StripeRefusal(400, {
        code: 'parameter_unknown',
        message: `Received unknown parameter: ${shown(name)}`,
        param: shown(name),
      });
  }
  for (const [key, rule] of Object.entries(rules)) {
    const names = key === '*' ? Object.keys(form) : [key.replace(/\?$/, '')];
    for (const name of names)
      checkValue(form[name], rule, { shown: shown(name), optional: key.endsWith('?') });
  }
}

function checkValue(
  value: FormValue | undefined,
  rule: RegExp | FormRules,
  { shown, optional }: { readonly shown: string; readonly optional: boolean },
): void {
  if (value === undefined) {
    if (optional) return;
    throw new StripeRefusal(400, {
      code: 'parameter_missing',
      message: `Missing required param: ${shown}.`,
      param: shown,
    });
  }
  if (!(rule instanceof RegExp)) {
    if (typeof value === 'string')
      throw new StripeRefusal(400, { message: `Invalid object: ${shown}`, param: shown });
    return checkForm(value, rule, shown);
  }
  if (typeof value === 'string' && rule.test(value)) return;
  throw new StripeRefusal(400, { message: `Invalid value for ${shown}`, param: shown });
}

/** A text of a checked form. */
export function formText(form: { [key: string]: FormValue }, ...path: readonly string[]): string | undefined {
  let at: FormValue | undefined = form;
  for (const key of path) at = typeof at === 'object' ? at[key] : undefined;
  return typeof at === 'string' ? at : undefined;
}
