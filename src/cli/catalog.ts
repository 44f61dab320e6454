import { readFileSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { lostGroups, type LostGroup } from '../activity/accounts.ts';
import { pricesBelowCost, type PriceBelowCost } from '../catalog/below-cost.ts';
import type { Catalog, Endpoint } from '../catalog/catalog.ts';
import { formatUsd, nanoUsd } from '../std/money.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import { priceDifferences } from '../catalog/import/price-check.ts';
import { catalogJsonSchema } from '../catalog/json-schema.ts';
import type { Environment } from '../catalog/key-rules.ts';
import { CatalogError, ImportError, type Mistake } from '../catalog/mistakes.ts';
import { Fault } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import { momentOf } from './spending-limits.ts';
import { plural } from '../std/plural.ts';
import { parseCatalog } from '../catalog/parse.ts';
import { priceLabel } from '../catalog/price-label.ts';
import { recordCommand } from './audited.ts';
import { catalogImportCommand } from './catalog-import.ts';
import type { CommandCatalog } from './command-catalog.ts';
import {
  CommandRefused,
  JSON_FLAG,
  NotFoundError,
  printResult,
  textFlag,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';
import example from '../../tollgate.example.yaml' with { type: 'text' };

export const catalogCommands: readonly CliCommand[] = [
  catalogImportCommand,
  {
    name: 'catalog check',
    usage: '[FILE] [--wallets] [--json]',
    about:
      'list the models of a catalog file and where their prices differ from the public list. Mistakes are shown with their lines. --wallets also finds price groups in use that the file lacks',
    flags: { ...JSON_FLAG, wallets: { type: 'boolean' } },
    minArguments: 0,
    maxArguments: 1,
    run: checkCatalog,
  },
  {
    name: 'catalog publish',
    usage: 'FILE [--from TIME] [--note TEXT] [--yes] [--json]',
    about:
      'publish a file as the catalog in the store. --from, such as 2030-01-01T00:00Z, sets a date and notifies customers. --yes publishes even without a price group in use',
    flags: { ...JSON_FLAG, from: { type: 'string' }, note: { type: 'string' }, yes: { type: 'boolean' } },
    minArguments: 1,
    run: (input, context) => context.withCatalog((current) => publish(input, context, current)),
  },
  {
    name: 'catalog plans',
    usage: '[--cancel] [--json]',
    about: 'list planned catalogs, past and waiting. --cancel cancels the waiting one',
    flags: { ...JSON_FLAG, cancel: { type: 'boolean' } },
    minArguments: 0,
    run: (input, context) => context.withCatalog((current) => listPlans(input, context, current)),
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

/** Refuses where the catalog is the operator's file: there is nothing to publish, now or later. */
function requirePlans({ plans, place }: CommandCatalog): NonNullable<CommandCatalog['plans']> {
  if (plans) return plans;
  throw new CommandRefused(
    `The catalog is the file ${place}: change it there, and it takes effect immediately.`,
  );
}

async function publish(input: CommandInput, context: CliContext, current: CommandCatalog): Promise<number> {
  const plans = requirePlans(current);
  const [path = ''] = input.arguments;
  if (!existsSync(path)) throw new NotFoundError(`There is no file '${path}'.`);
  const [text, note] = [readFileSync(path, 'utf8'), textFlag(input, 'note') ?? ''];
  const from = textFlag(input, 'from');
  const moment = from === undefined ? undefined : momentOf(from);
  const record = (detail: Readonly<Record<string, unknown>>) => (store: Store) =>
    recordCommand(store, { action: 'catalog.save', target: '', detail }, { input, context });
  await agreeToLostGroups(text, input, context, current);
  try {
    if (moment === undefined) await current.save(text, note, record({ note }));
    else {
      await plans.record(record({ note, from: moment }));
      await plans.add(text, { from: moment, note });
    }
  } catch (error) {
    if (!(error instanceof ImportError || error instanceof Fault)) throw error;
    const code = error instanceof Fault ? error.code : 'invalid_field';
    const entry = { action: 'catalog.save.refused', target: '', detail: { code } };
    await plans.record((store) => recordCommand(store, entry, { input, context }));
    throw new CommandRefused(error.message);
  }
  const at = moment === undefined ? null : new Date(moment).toISOString();
  printResult(input, context, { published: true, from: at }, [
    at === null ? 'It is in force.' : `It is in force from ${at} on. Customers are told.`,
  ]);
  return 0;
}

/** Whoever is in a group that is no more pays the list prices: somebody has to say yes to that. */
async function agreeToLostGroups(
  text: string,
  input: CommandInput,
  { confirm }: CliContext,
  current: CommandCatalog,
): Promise<void> {
  if (input.flags['yes'] === true) return;
  const catalog = parsedOrNone(text, current);
  const lost = catalog ? await requirePlans(current).lostGroups(catalog) : [];
  if (lost.length === 0) return;
  const words = lost.map(lostGroupLine).join(' ');
  const agreed = input.flags['json'] !== true && (await confirm?.(`${words} Publish it?`));
  if (agreed !== true) throw new CommandRefused(`${words} Nothing was published; --yes publishes it.`);
}

/** `undefined` if it has mistakes, which its publication reports. */
function parsedOrNone(text: string, current: CommandCatalog): Catalog | undefined {
  try {
    return current.parse(text);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

function lostGroupLine({ group, wallets }: LostGroup): string {
  return `The catalog has no price group '${group}', in which there ${wallets === 1 ? 'is' : 'are'} ${plural(wallets, 'wallet')}: list prices would apply.`;
}

async function listPlans(input: CommandInput, context: CliContext, current: CommandCatalog): Promise<number> {
  const plans = requirePlans(current);
  const cancels = input.flags['cancel'] === true;
  if (cancels) {
    const entry = { action: 'catalog.cancel-plan', target: '', detail: {} };
    await plans.record((store) => recordCommand(store, entry, { input, context }));
    if (!(await plans.cancel())) {
      const refused = { ...entry, action: 'catalog.cancel-plan.refused', detail: { code: 'not_found' } };
      await plans.record((store) => recordCommand(store, refused, { input, context }));
      throw new CommandRefused('Nothing is planned.');
    }
  }
  const all = (await plans.list()).map(({ from, madeAt, actor, note, state, version }) => ({
    from: new Date(from).toISOString(),
    state,
    note,
    actor,
    made_at: new Date(madeAt).toISOString(),
    version: version ?? null,
  }));
  const lines = all.map(({ from, state, note, actor }) => `${from}  ${state}  ${actor}  ${note}`.trimEnd());
  printResult(input, context, { plans: all }, lines.length === 0 ? ['Nothing is planned.'] : lines);
  return 0;
}

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
  const groups = [...(catalog?.groups?.keys() ?? [])];
  const lost =
    catalog && input.flags['wallets'] === true
      ? await context.withServices(({ store }) => lostGroups(store.db, groups))
      : [];
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
    lost_groups: lost,
    catalog: sold,
  };
  const warnings = [...differences, ...losing.map(belowCostLine), ...lost.map(lostGroupLine)];
  printResult(input, context, value, [...lines, ...warnings, ...problems]);
  return ok ? 0 : 1;
}

function belowCostLine({ group, endpoint, model, item, price, cost, backend }: PriceBelowCost): string {
  const whose = group === undefined ? '' : ` for ${group}`;
  return `below cost: ${endpoint}/${model}${whose}: ${item.replaceAll('_', ' ')} $${formatUsd(nanoUsd(price))}, cost at ${backend} $${formatUsd(nanoUsd(cost))}`;
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
  const counts = `endpoints ${catalog.endpoints.size}, backends ${catalog.upstreams.size}, aliases ${catalog.aliases.size}`;
  return [`${path} is valid: ${counts}`, ...models];
}

function endpointLines(endpoint: Endpoint): string[] {
  const places = endpoint.places
    .map((place) => place.map(({ upstream }) => upstream).join(' + '))
    .join(', then ');
  const title = `${endpoint.code} (${endpoint.type}) ${endpoint.unavailable ? `unavailable: ${endpoint.unavailable}` : `via ${places}`}`;
  return [title, ...endpoint.models.map((model) => `  ${model.id}  ${priceLabel(model)}`)];
}
