import type { Catalog } from '../catalog/catalog.ts';
import { amountsLabel } from '../catalog/import/plan.ts';
import { listedProvider } from '../catalog/import/price-list.ts';
import { CatalogError, ImportError } from '../catalog/mistakes.ts';
import { priceLabel } from '../catalog/price-label.ts';
import { markupFactor } from '../catalog/price-schema.ts';
import { previewImport, type ImportPreview, type ImportRequest } from '../upstream/offered/import-preview.ts';
import { factorText, shownImport } from '../upstream/offered/import-view.ts';
import { canListModels } from '../upstream/offered/offered-models.ts';
import type { CommandCatalog } from './command-catalog.ts';
import { recordCommand } from './audited.ts';
import {
  JSON_FLAG,
  textFlag,
  UsageError,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

export const catalogImportCommand: CliCommand = {
  name: 'catalog import',
  usage: '[PROVIDER] [--markup 1.2] [--models NAME,NAME*] [--yes] [--json]',
  about:
    'compare the models of a backend with the catalog, with prices from a public list. Changes the catalog after you confirm',
  flags: {
    ...JSON_FLAG,
    markup: { type: 'string' },
    models: { type: 'string' },
    yes: { type: 'boolean' },
  },
  minArguments: 0,
  maxArguments: 1,
  run: async (input, context) =>
    await context.withCatalog(async (catalog) => await importModels(input, context, catalog)),
};

const LIST_TIMEOUT_MS = 30_000;

interface ImportOutcome {
  readonly previews: readonly ImportPreview[];
  /** By upstream, why it was not asked or did not answer. */
  readonly failures: readonly { readonly upstream: string; readonly reason: string }[];
  /** The catalog with all changes, as it is saved; `undefined`: there are none. */
  readonly changed: string | undefined;
}

async function importModels(
  input: CommandInput,
  context: CliContext,
  catalog: CommandCatalog,
): Promise<number> {
  const outcome = await preview(input, catalog);
  const isJson = input.flags['json'] === true;
  if (!isJson) for (const line of outcomeLines(outcome)) context.print(line);
  const saved = await save(input, context, catalog, outcome).catch(expectedError);
  const problem = saved instanceof Error ? saved.message : undefined;
  if (isJson) context.print(JSON.stringify(shown(outcome, saved === true, problem)));
  else if (problem !== undefined) context.print(problem);
  return outcome.failures.length === 0 && problem === undefined ? 0 : 1;
}

function expectedError(error: unknown): Error {
  if (error instanceof ImportError || error instanceof CatalogError) return error;
  throw error;
}

/** One upstream after the other, each on the draft of those before it. */
async function preview(input: CommandInput, catalog: CommandCatalog): Promise<ImportOutcome> {
  const [provider] = input.arguments;
  const request = { markup: markupFlag(input), models: modelsFlag(input) };
  const providers = provider === undefined ? upstreamsOf(catalog.parse(catalog.text)) : [provider];
  const previews: ImportPreview[] = [];
  const failures: { upstream: string; reason: string }[] = [];
  let text = catalog.text;
  for (const name of providers) {
    const one = await previewOne({ ...catalog, text }, { provider: name, ...request });
    if (one instanceof Error) failures.push({ upstream: name, reason: one.message });
    else previews.push(one);
    text = one instanceof Error ? text : (one.changed ?? text);
  }
  return { previews, failures, changed: text === catalog.text ? undefined : text };
}

async function previewOne(
  target: Pick<CommandCatalog, 'text' | 'parse' | 'write'>,
  request: ImportRequest,
): Promise<ImportPreview | Error> {
  return await previewImport(target, request, AbortSignal.timeout(LIST_TIMEOUT_MS)).catch(expectedError);
}

function upstreamsOf({ upstreams }: Catalog): string[] {
  const names = [...upstreams.values()]
    .filter((upstream) => canListModels(upstream) && listedProvider(upstream) !== undefined)
    .map(({ name }) => name);
  if (names.length === 0)
    throw new UsageError('No backend of the catalog lists its models. Name a provider, such as openai.');
  return names;
}

function markupFlag(input: CommandInput): number | undefined {
  const text = textFlag(input, 'markup');
  if (text === undefined) return undefined;
  const read = markupFactor.safeParse(text);
  if (!read.success) throw new UsageError(`--markup ${read.error.issues[0]?.message ?? 'is no factor'}.`);
  return read.data;
}

function modelsFlag(input: CommandInput): string[] | undefined {
  const names = textFlag(input, 'models')
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names?.length === 0) throw new UsageError('--models names no model.');
  return names;
}

/** Asks on a terminal; elsewhere nothing is written without `--yes`. */
async function save(
  input: CommandInput,
  context: CliContext,
  catalog: CommandCatalog,
  { changed, previews }: ImportOutcome,
): Promise<boolean> {
  const tell = (line: string): void => {
    if (input.flags['json'] !== true) context.print(line);
  };
  if (changed === undefined) {
    tell('Nothing to change.');
    return false;
  }
  const yes =
    input.flags['yes'] === true ||
    (input.flags['json'] !== true && (await context.confirm?.(`Write this to ${catalog.place}?`)) === true);
  if (!yes) {
    if (catalog.kind === 'file') {
      tell('To paste:');
      for (const { paste } of previews) for (const line of paste.split('\n')) tell(line);
    }
    tell(`Nothing was written. --yes writes it to ${catalog.place}.`);
    return false;
  }
  const note = `Models of ${previews.map(({ upstream }) => upstream).join(', ')}`;
  const entry = { action: 'catalog.import', target: '', detail: { note } };
  await catalog.save(changed, note, (store) => recordCommand(store, entry, { input, context }));
  tell(`Written to ${catalog.place}.`);
  return true;
}

function shown(
  { previews, failures }: ImportOutcome,
  written: boolean,
  problem: string | undefined,
): unknown {
  return { imports: previews.map((one) => shownImport(one)), failures, written, problem: problem ?? null };
}

function outcomeLines({ previews, failures }: ImportOutcome): string[] {
  return [
    ...previews.flatMap(previewLines),
    ...failures.map(({ upstream, reason }) => `${upstream}: ${reason}`),
  ];
}

function previewLines(preview: ImportPreview): string[] {
  const { plan, upstream, listVersion, markup } = preview;
  const counts = `${plan.added.length} new, ${plan.changed.length} changed, ${plan.differing.length} differing, ${plan.gone.length} gone, ${plan.skipped.length} not imported, ${plan.same} as listed`;
  const rule = markup === undefined ? 'no markup' : `markup ${factorText(markup)}`;
  const changes = [
    { mark: '~', models: plan.changed, tail: '' },
    { mark: '≠', models: plan.differing, tail: '; stays, because no markup is given' },
  ];
  return [
    `${upstream}: ${counts} (${listVersion}, ${rule}; USD per million tokens)`,
    ...shownImport(preview).new.map(({ model, context, max_output: output, abilities }, index) => {
      const { price, cost } = plan.added[index] ?? { price: undefined, cost: undefined };
      const prices = price && cost ? `${amountsLabel(price)} (cost ${amountsLabel(cost)})` : '';
      const limits = `context ${context ?? 'not known'}, output ${output ?? 'not known'}`;
      return `+ ${model}  ${prices}; ${limits}; ${abilities.length === 0 ? 'abilities not known' : abilities.join(', ')}`;
    }),
    ...changes.flatMap(({ mark, models, tail }) =>
      models.map(
        ({ id, before, price }) =>
          `${mark} ${id}  ${priceLabel({ price: before, free: false, sizes: [] })} → ${amountsLabel(price)}${tail}`,
      ),
    ),
    ...plan.gone.map((id) => `- ${id}  is not offered any more; remove it unless another backend serves it`),
    ...plan.skipped.map(({ model, reason }) => `· ${model}  ${reason}`),
  ];
}
