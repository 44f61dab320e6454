import type { CatalogFile } from '../file-schema.ts';
import type { CatalogPath } from '../catalog-data.ts';

/** What has to be removed or changed when a backend is removed. */
interface BackendReferences {
  /** Endpoints that others serve too: they go on without it. */
  readonly sharedEndpoints: readonly string[];
  /** Endpoints that nothing else serves: they go with it. */
  readonly ownEndpoints: readonly string[];
  /** Lists that only such endpoints offer. */
  readonly ownLists: readonly string[];
  /** Other names of models of such endpoints. */
  readonly aliases: readonly string[];
  /** Where models refer to it: its own name of the model, and what it charges. */
  readonly details: readonly CatalogPath[];
}

export function referencesTo(file: CatalogFile, backend: string): BackendReferences {
  const endpoints = Object.entries(file.endpoints);
  const serving = endpoints.filter(([, { upstreams }]) => upstreams.map(upstreamName).includes(backend));
  const ownEndpoints = serving.filter(([, { upstreams }]) => upstreams.length === 1).map(([code]) => code);
  const stays = endpoints.filter(([code]) => !ownEndpoints.includes(code));
  const offered = new Set(stays.flatMap(([, { lists }]) => lists));
  const leaving = ownEndpoints.flatMap((code) => file.endpoints[code]?.lists ?? []);
  const ownLists = [...new Set(leaving)].filter((list) => !offered.has(list));
  return {
    sharedEndpoints: serving.map(([code]) => code).filter((code) => !ownEndpoints.includes(code)),
    ownEndpoints,
    ownLists,
    aliases: Object.entries(file.aliases)
      .filter(([, target]) => ownEndpoints.includes(target.slice(0, target.indexOf('/'))))
      .map(([alias]) => alias),
    details: Object.entries(file.lists)
      .filter(([list]) => !ownLists.includes(list))
      .flatMap(([list, models]) =>
        models.flatMap((model) =>
          (['upstream_models', 'cost'] as const)
            .filter((key) => Object.hasOwn(model[key], backend))
            .map((key) => ['lists', list, model.model, key, backend]),
        ),
      ),
  };
}

export function upstreamName(entry: CatalogFile['endpoints'][string]['upstreams'][number]): string {
  return typeof entry === 'string' ? entry : entry.name;
}
