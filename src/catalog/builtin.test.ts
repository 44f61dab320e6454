import { describe, expect, test } from 'bun:test';
import { builtinCatalog } from './builtin.ts';
import { PARTNERS } from './builtin-partners.ts';
import { resolve, type Catalog } from './catalog.ts';
import { findRoute } from './find.ts';
import { parseCatalog } from './parse.ts';

function builtin(env: Record<string, string>): Catalog {
  return parseCatalog(builtinCatalog(env), { fileName: 'built-in', env });
}

const CODES = {
  svc_chat: 'Primary chat',
  svcv1_chat: 'Alternative chat',
  svcv3_chat: 'Additional chat',
  svcv4_chat: 'Extended chat',
  svcv5_chat: 'Specialized chat',
  partner_chat: 'Partner chat',
  svc_tgter: 'Image generation',
  svcv2_image: 'Image generation (alternative)',
};

describe('the built-in catalog', () => {
  test('has the eight public codes, named, on the house backend, with no key at all', () => {
    const catalog = builtin({});
    expect(Object.fromEntries([...catalog.endpoints].map(([code, { name }]) => [code, name]))).toEqual(CODES);
    expect([...catalog.upstreams.keys()]).toEqual(['house']);
    for (const { code, type, models, unavailable } of catalog.endpoints.values()) {
      if (code === 'partner_chat') continue;
      expect(unavailable).toBeUndefined();
      const ids = models.map(({ id }) => id).toSorted();
      expect(ids).toEqual(type === 'image_generation' ? ['house-paint'] : ['house-echo', 'house-guide']);
    }
  });

  test('takes its models from several named lists', () => {
    const models = [...builtin({}).endpoints.values()].flatMap((endpoint) => endpoint.models);
    expect(new Set(models.map(({ list }) => list)).size).toBeGreaterThanOrEqual(4);
  });

  test('answers bare model names of the house, though several endpoints have them', () => {
    const catalog = builtin({});
    expect(findRoute(catalog, 'house-guide', 'chat_completion').endpoint.code).toBe('svc_chat');
    expect(findRoute(catalog, 'house-paint', 'image_generation').endpoint.code).toBe('svc_tgter');
  });

  test('without a provider key lists no partner model and says which variables to set', () => {
    const partner = builtin({}).endpoints.get('partner_chat')!;
    expect(partner.models).toEqual([]);
    for (const { variables } of PARTNERS) expect(partner.unavailable).toContain(variables[0]);
    const ask = (): unknown =>
      resolve(builtin({}), { code: 'partner_chat', model: 'gpt-5-mini', type: 'chat_completion' });
    expect(ask).toThrow(/OPENAI_API_KEY/);
  });

  test.each(PARTNERS.flatMap((partner) => partner.variables.map((variable) => [variable, partner] as const)))(
    'with %s serves the models of that provider, each with a price',
    (variable, partner) => {
      const catalog = builtin({ [variable]: 'a-key' });
      const endpoint = catalog.endpoints.get('partner_chat')!;
      expect(endpoint.unavailable).toBeUndefined();
      expect(endpoint.models).toHaveLength(partner.models.length);
      expect(endpoint.places).toEqual([[{ upstream: partner.name, weight: 1 }]]);
      expect(catalog.upstreams.get(partner.name)).toMatchObject({ kind: partner.kind, apiKey: 'a-key' });
      for (const { price } of endpoint.models) {
        expect(price.kind === 'tokens' && price.input > 0 && price.output > price.input).toBe(true);
      }
    },
  );

  test('with several keys serves the first provider, and an empty variable is no key', () => {
    const both = builtin({ OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b' });
    expect(both.endpoints.get('partner_chat')!.places).toEqual([[{ upstream: 'openai', weight: 1 }]]);
    const second = builtin({ OPENAI_API_KEY: ' ', ANTHROPIC_API_KEY: 'b' });
    expect(second.endpoints.get('partner_chat')!.places).toEqual([[{ upstream: 'anthropic', weight: 1 }]]);
  });
});
