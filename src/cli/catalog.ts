import { readFileSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { pricesBelowCost, type PriceBelowCost } from '../catalog/below-cost.ts';
import type { Catalog, Endpoint } from '../catalog/catalog.ts';
import { formatUsd, nanoUsd } from '../std/money.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import { priceDifferences } from '../catalog/import/price-check.ts';
import { catalogJsonSchema } from '../catalog/json-schema.ts';
import type { Environment } from '../catalog/key-rules.ts';
import { CatalogError, type Mistake } from '../catalog/mistakes.ts';
import { parseCatalog } from '../catalog/parse.ts';
import { priceLabel } from '../catalog/price-label.ts';
import { catalogImportCommand } from './catalog-import.ts';
import type { CommandCatalog } from './command-catalog.ts';
import {
  JSON_FLAG,
  NotFoundError,
  printResult,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';
import example from '../../tollgate.example.yaml' with { type: 'text' };

export const catalogCommands: readonly CliCommand[] = [
  catalogImportCommand,
  {
    name: 'catalog check',
    usage: '[FILE] [--json]',
    about:
      'list what a catalog file sells, and where its prices are not those of the public list; or its mistakes with their lines',
    flags: JSON_FLAG,
    minArguments: 0,
    maxArguments: 1,
    run: checkCatalog,
  },
  {
    name: 'catalog example',
    usage: '[--json]',
    about: 'print a catalog file to start from',
    flags: JSON_FLAG,
    minArguments: 0,
    run: async (input, context) => {
      const yaml = catalogExample();
      printResult(input, context, { yaml }, [yaml]);
      return 0;
    },
  },
  {
    name: 'catalog schema',
    usage: '[--json]',
    about: 'print the JSON Schema of a catalog file, for editors; with --json in one line',
    flags: JSON_FLAG,
    minArguments: 0,
    run: async (input, context) => {
      const schema = catalogSchema(context.fileSettings);
      printResult(input, context, JSON.parse(schema), [schema]);
      return 0;
    },
  },
];

async function checkCatalog(input: CommandInput, context: CliContext): Promise<number> {
  const [path] = input.arguments;
  const { catalog, lines, mistakes: found } = await checkedAt(path, context);
  const mistakes = found.map(({ line, column, path: key, message }) => ({
    line,
    column,
    path: key,
    message,
  }));
  const differences = catalog ? await priceDifferences(catalog) : [];
  const losing = catalog ? pricesBelowCost(catalog) : [];
  const tls = catalog && context.checkTls(catalog, path === undefined ? undefined : dirname(path));
  const problems = tls && !tls.ok ? [tls.line] : [];
  const ok = tls?.ok === true;
  const sold = catalog ? catalogView(catalog) : null;
  const value = {
    ok,
    mistakes,
    problems,
    price_differences: differences,
    below_cost: losing.map(({ price, cost, group, ...rest }) => ({
      group: group ?? null,
      ...rest,
      price_usd: formatUsd(nanoUsd(price)),
      cost_usd: formatUsd(nanoUsd(cost)),
    })),
    catalog: sold,
  };
  printResult(input, context, value, [...lines, ...differences, ...losing.map(belowCostLine), ...problems]);
  return ok ? 0 : 1;
}

function belowCostLine({ group, endpoint, model, item, price, cost, backend }: PriceBelowCost): string {
  const whose = group === undefined ? '' : ` for ${group}`;
  return `below cost: ${endpoint}/${model}${whose}: ${item} ${formatUsd(nanoUsd(price))}, and ${backend} takes ${formatUsd(nanoUsd(cost))}`;
}

async function checkedAt(path: string | undefined, context: CliContext): Promise<CatalogCheck> {
  if (path === undefined) return await context.withCatalog(async (current) => checkedCatalog(current));
  if (!existsSync(path)) throw new NotFoundError(`There is no file '${path}'.`);
  return checkCatalogFile(path, context.env, context.fileSettings);
}

interface CatalogCheck {
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
function checkedCatalog({
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
function catalogView({ endpoints, upstreams, aliases }: Catalog) {
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
