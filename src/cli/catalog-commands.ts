import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { priceDifferences } from '../catalog/import/price-check.ts';
import { catalogImportCommand } from './catalog-import.ts';
import {
  catalogExample,
  catalogSchema,
  catalogView,
  checkCatalogFile,
  checkedCatalog,
  type CatalogCheck,
} from './catalog.ts';
import {
  JSON_FLAG,
  NotFoundError,
  printResult,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

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
  const tls = catalog && context.checkTls(catalog, path === undefined ? undefined : dirname(path));
  const problems = tls && !tls.ok ? [tls.line] : [];
  const ok = tls?.ok === true;
  const sold = catalog ? catalogView(catalog) : null;
  const value = { ok, mistakes, problems, price_differences: differences, catalog: sold };
  printResult(input, context, value, [...lines, ...differences, ...problems]);
  return ok ? 0 : 1;
}

async function checkedAt(path: string | undefined, context: CliContext): Promise<CatalogCheck> {
  if (path === undefined) return await context.withCatalog(async (current) => checkedCatalog(current));
  if (!existsSync(path)) throw new NotFoundError(`There is no file '${path}'.`);
  return checkCatalogFile(path, context.env, context.fileSettings);
}
