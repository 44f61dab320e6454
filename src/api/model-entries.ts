import type { Catalog } from '../catalog/catalog.ts';
import type { ModelEntry } from '../wire/openai/models-list.ts';

/** The catalog as `/v1/models` lists it: every model of every endpoint as `code/model`, then the aliases. */
export function modelEntries(catalog: Catalog): ModelEntry[] {
  const entries = [...catalog.endpoints.values()]
    .filter((endpoint) => endpoint.unavailable === undefined)
    .flatMap((endpoint) =>
      endpoint.models.map((model) => ({ id: `${endpoint.code}/${model.id}`, endpoint, model })),
    );
  const aliases = [...catalog.aliases].flatMap(([id, target]) => {
    const entry = entries.find((candidate) => candidate.id === `${target.endpoint}/${target.model}`);
    return entry ? [{ ...entry, id }] : [];
  });
  return [...entries, ...aliases].map(({ id, endpoint, model }) => ({
    id,
    name: model.displayName,
    owner: endpoint.code,
    kind: endpoint.type,
    contextTokens: model.contextTokens,
    maxOutput: model.maxOutput,
    price:
      model.price.kind === 'tokens'
        ? model.price
        : { kind: 'images', image: model.price.otherwise ?? [...model.price.bySize.values()][0] ?? 0 },
    vision: model.vision,
    tools: model.tools,
    reasoning: model.reasoning,
  }));
}
