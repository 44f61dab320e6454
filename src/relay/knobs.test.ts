import { describe, expect, test } from 'bun:test';
import type { Model } from '../catalog/catalog.ts';
import type { CostlyField, Knobs } from '../wire/field-table.ts';
import type { Call, Quote, RelayParts } from './call.ts';
import { checkKnobs, droppedNames, isServed, knobsFor } from './knobs.ts';

/**
 * Which fields reach a backend: one that costs extra never reaches it unpriced, unless the operator lets this backend
 * have it; and whatever a client sent in vain is named to it.
 */

const WEB_SEARCH: CostlyField = { field: 'web_search_options', cost: { price: 'tool_calls.web_search' } };
const CONTAINER: CostlyField = { field: 'container', cost: { refusal: 'nobody can price it.' } };
const OPTIONAL: CostlyField = {
  field: 'partial_images',
  cost: { price: 'partial_image', isOptional: true },
};
const NATIVE_TOOL: CostlyField = {
  field: 'tools',
  cost: { refusal: 'nobody can price it.' },
  nativeName: 'tools.code_execution',
};

/** A plain backend, one that speaks the client's dialect, and one that passes some fields. */
const parts = {
  catalog: () => ({
    upstreams: new Map([
      ['plain', {}],
      ['native', { speaksMessages: true }],
      ['own', { passFields: new Set(['n_predict', 'container', 'tools']) }],
    ]),
  }),
} as unknown as RelayParts;

function quoteFor(
  upstreams: readonly string[],
  options: { isPriced?: boolean; isChoosing?: boolean; reasons?: boolean } = {},
): Quote {
  const extra = options.isPriced ? { webSearch: 1 } : {};
  return {
    route: {
      endpoint: {
        places: upstreams.map((upstream) => [{ upstream, weight: 1 }]),
        ...(options.isChoosing && { selectable: new Set(upstreams) }),
      },
      model: { price: { kind: 'tokens', extra }, reasoning: options.reasons === true } as unknown as Model,
    },
  } as unknown as Quote;
}

const knobs = (found: Partial<Knobs>): Knobs => ({
  unknown: new Map(),
  costly: [],
  reasoning: [],
  leftOut: [],
  ...found,
});
const callWith = (costly: readonly CostlyField[], isNative = false) =>
  ({ knobs: knobs({ costly }), ...(isNative && { nativeRequest: {} }) }) as unknown as Call<unknown>;

describe('a field that costs extra', () => {
  const check =
    (costly: CostlyField, quote: Quote, isNative = false) =>
    () =>
      checkKnobs(callWith([costly], isNative), quote, parts);

  test('is refused with its name and the reason, if the model has no price for it', () => {
    expect(check(WEB_SEARCH, quoteFor(['plain']))).toThrow(
      'web_search_options is not supported here: it costs extra, and this model has no price for it (tool_calls.web_search).',
    );
    expect(check(CONTAINER, quoteFor(['plain']))).toThrow(
      'container is not supported here: nobody can price it.',
    );
    try {
      check(CONTAINER, quoteFor(['plain']))();
    } catch (fault) {
      expect(fault).toMatchObject({ code: 'invalid_field', param: 'container' });
    }
  });

  test('is taken with a price, at an endpoint whose backend passes it, and where it chooses backends', () => {
    check(WEB_SEARCH, quoteFor(['plain'], { isPriced: true }))();
    check(CONTAINER, quoteFor(['plain', 'own']))();
    const choice: CostlyField = { field: 'provider', cost: { refusal: 'x' } };
    check(choice, quoteFor(['plain'], { isChoosing: true }))();
    expect(check(choice, quoteFor(['plain']))).toThrow('provider is not supported here');
  });

  test('that only a backend of the client’s dialect sees is refused only where there is one', () => {
    check(NATIVE_TOOL, quoteFor(['plain']), true)();
    check(NATIVE_TOOL, quoteFor(['native']), false)();
    expect(check(NATIVE_TOOL, quoteFor(['plain', 'native']), true)).toThrow('tools is not supported here');
  });

  test('that its client can do without is not refused', () => {
    const sold = { kind: 'images', bySize: new Map() };
    const { route } = quoteFor(['plain']);
    const images = { route: { ...route, model: { price: sold } } } as unknown as Quote;
    expect(isServed(OPTIONAL, images.route, parts)).toBe(false);
    check(OPTIONAL, images)();
  });

  test('is looked at wherever it stands among the others', () => {
    const call = callWith([WEB_SEARCH, CONTAINER]);
    expect(() => checkKnobs(call, quoteFor(['plain'], { isPriced: true }), parts)).toThrow('container');
  });
});

describe('a backend gets', () => {
  const REQUEST = { model: 'm', web_search_options: {}, container: 'c', provider: {}, tools: ['t'] };
  const got = (upstream: string, found: Partial<Knobs>, options = {}) => {
    const target = { quote: quoteFor([upstream], options), upstream, parts };
    return JSON.parse(JSON.stringify(knobsFor(REQUEST, knobs(found), target))) as object;
  };

  test('the unknown fields that it passes, and no others', () => {
    const unknown = new Map<string, unknown>([
      ['n_predict', 5],
      ['best_of', 3],
    ]);
    expect(got('own', { unknown })).toEqual({ ...REQUEST, n_predict: 5 });
    expect(got('plain', { unknown })).toEqual(REQUEST);
  });

  test('costly fields that have a price or that it passes, and no others', () => {
    const costly = [WEB_SEARCH, CONTAINER];
    const { web_search_options: _, container: __, ...rest } = REQUEST;
    expect(got('plain', { costly })).toEqual(rest);
    expect(got('plain', { costly }, { isPriced: true })).toEqual({ ...rest, web_search_options: {} });
    expect(got('own', { costly })).toEqual({ ...rest, container: 'c' });
  });

  test('no choice of backends, and all tools of a request that was not refused', () => {
    const { provider: _, ...rest } = REQUEST;
    const costly: CostlyField[] = [{ field: 'provider', cost: { refusal: 'x' } }, NATIVE_TOOL];
    expect(got('plain', { costly }, { isChoosing: true })).toEqual(rest);
  });
});

describe('options of reasoning', () => {
  const target = (reasons: boolean) => ({
    quote: quoteFor(['native'], { reasons }),
    upstream: 'native',
    parts,
  });
  const asked = {
    reasoning_effort: 'high',
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high', format: { type: 'json_schema' } },
    max_tokens: 5,
  };
  const found = knobs({ reasoning: ['thinking', 'output_config.effort'] });

  test('reach a model that reasons, and no other; what else their field says stays', () => {
    expect(knobsFor(asked, found, target(true))).toEqual(asked);
    const rest = JSON.parse(JSON.stringify(knobsFor(asked, found, target(false)))) as object;
    expect(rest).toEqual({ output_config: { format: { type: 'json_schema' } }, max_tokens: 5 });
  });

  test('leave no empty field behind', () => {
    const effort = { output_config: { effort: 'low' }, max_tokens: 5 };
    const rest = JSON.parse(JSON.stringify(knobsFor(effort, found, target(false)))) as object;
    expect(rest).toEqual({ max_tokens: 5 });
  });

  test('are named in the words of the client where they were left out', () => {
    const call = callWith([]);
    expect(droppedNames(found, call, target(false))).toBe('thinking, output_config.effort');
    expect(droppedNames(found, call, target(true))).toBeUndefined();
  });
});

describe('what a backend did not get', () => {
  const dropped = (
    upstream: string,
    found: Partial<Knobs>,
    options: Parameters<typeof quoteFor>[1] & { isNative?: boolean } = {},
  ) =>
    droppedNames(knobs(found), callWith([], options.isNative), {
      quote: quoteFor([upstream], options),
      upstream,
      parts,
    });

  test('is named: unknown fields, costly ones without a price, and what was left out', () => {
    const unknown = new Map([
      ['best_of', 1],
      ['n_predict', 1],
    ]);
    const found = { unknown, costly: [WEB_SEARCH, CONTAINER], leftOut: ['anthropic-beta'] };
    expect(dropped('plain', found)).toBe('best_of, n_predict, web_search_options, container, anthropic-beta');
    expect(dropped('plain', found, { isPriced: true })).toBe('best_of, n_predict, container, anthropic-beta');
    expect(dropped('own', found)).toBe('best_of, web_search_options, anthropic-beta');
    expect(dropped('plain', {})).toBeUndefined();
  });

  test('is named by what it is called in the client’s dialect, unless the backend speaks it and may have it', () => {
    expect(dropped('plain', { costly: [NATIVE_TOOL] }, { isNative: true })).toBe('tools.code_execution');
    expect(dropped('own', { costly: [NATIVE_TOOL] }, { isNative: true })).toBe('tools.code_execution');
    const priced: CostlyField = { ...WEB_SEARCH, nativeName: 'tools.web_search' };
    expect(dropped('native', { costly: [priced] }, { isNative: true, isPriced: true })).toBeUndefined();
    expect(dropped('native', { costly: [priced] }, { isPriced: true })).toBe('tools.web_search');
  });

  test('does not name a choice of backends, which was followed', () => {
    const costly: CostlyField[] = [{ field: 'provider', cost: { refusal: 'x' } }];
    expect(dropped('plain', { costly }, { isChoosing: true })).toBeUndefined();
    expect(dropped('plain', { costly })).toBe('provider');
  });

  test('is a header: each name once, no more than twenty, none that could not stand in one', () => {
    const names = ['a', 'a', 'x y', 'ü', 'new\nline', '', 'n'.repeat(64), 'n'.repeat(65), 'v1.2-b_c'];
    expect(dropped('plain', { leftOut: names })).toBe(`a, ${'n'.repeat(64)}, v1.2-b_c`);
    const many = Array.from({ length: 30 }, (_, index) => `field${index}`);
    expect(dropped('plain', { leftOut: many })).toBe(many.slice(0, 20).join(', '));
  });
});
