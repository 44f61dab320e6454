import type { Environment } from '../catalog/key-rules.ts';
import { readFileSync } from 'node:fs';
import type { Catalog, Endpoint } from '../catalog/catalog.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import { catalogJsonSchema } from '../catalog/json-schema.ts';
import { CatalogError, type Mistake } from '../catalog/mistakes.ts';
import { parseCatalog } from '../catalog/parse.ts';
import { priceLabel } from '../catalog/price-label.ts';
import type { CommandCatalog } from './command-catalog.ts';
import example from '../../tollgate.example.yaml' with { type: 'text' };

export interface CatalogCheck {
  /** Absent when it has mistakes. */
  readonly catalog: Catalog | undefined;
  /** The lines to print: what is sold, or what is wrong. */
  readonly lines: readonly string[];
  readonly mistakes: readonly Mistake[];
}

/** `tollgate catalog check FILE` */
export function checkCatalogFile(path: string, env: Environment, settings: FileSettings): CatalogCheck {
  const parse = (text: string): Catalog => parseCatalog(text, { fileName: path, env, settings });
  try {
    return checkedCatalog({ place: path, text: readFileSync(path, 'utf8'), parse });
  } catch (error) {
    const message = `Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`;
    return { catalog: undefined, lines: [message], mistakes: [{ line: 0, column: 0, path: '', message }] };
  }
}

/** `tollgate catalog check`: the catalog that a server would use. */
export function checkedCatalog({
  place,
  text,
  parse,
}: Pick<CommandCatalog, 'place' | 'text' | 'parse'>): CatalogCheck {
  try {
    const catalog = parse(text);
    return { catalog, lines: summaryOf(place, catalog), mistakes: [] };
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    const { message, mistakes } = error;
    return { catalog: undefined, lines: [...message.split('\n'), mistakeCount(error)], mistakes };
  }
}

/** `tollgate catalog schema` */
export function catalogSchema(settings: FileSettings): string {
  return catalogJsonSchema(settings);
}

/** `tollgate catalog example` */
export function catalogExample(): string {
  return example;
}

/** What a valid file sells, for programs. */
export function catalogView({ endpoints, upstreams, aliases }: Catalog) {
  return {
    upstreams: [...upstreams.values()].map(({ name, kind }) => ({ name, kind })),
    endpoints: [...endpoints.values()].map(({ code, type, unavailable, models }) => ({
      code,
      type,
      unavailable,
      models: models.map(({ id }) => id),
    })),
    aliases: [...aliases.keys()],
  };
}

function mistakeCount({ mistakes }: CatalogError): string {
  return mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`;
}

function summaryOf(path: string, catalog: Catalog): string[] {
  const models = [...catalog.endpoints.values()].flatMap((endpoint) => endpointLines(endpoint));
  const counts = `endpoints ${catalog.endpoints.size}, upstreams ${catalog.upstreams.size}, aliases ${catalog.aliases.size}`;
  return [`${path} is valid: ${counts}`, ...models];
}

function endpointLines(endpoint: Endpoint): string[] {
  const places = endpoint.places
    .map((place) => place.map(({ upstream }) => upstream).join(' + '))
    .join(', then ');
  const title = `${endpoint.code} (${endpoint.type}) ${endpoint.unavailable ? `unavailable: ${endpoint.unavailable}` : `via ${places}`}`;
  return [title, ...endpoint.models.map((model) => `  ${model.id}  ${priceLabel(model)}`)];
}
