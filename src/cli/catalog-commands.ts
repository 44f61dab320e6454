import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { catalogExample, catalogSchema, catalogView, checkCatalogFile } from './catalog.ts';
import { JSON_FLAG, NotFoundError, printResult, type CliCommand } from './command.ts';

export const catalogCommands: readonly CliCommand[] = [
  {
    name: 'catalog check',
    usage: 'FILE [--json]',
    about: 'list what a catalog file sells, or its mistakes with their lines',
    flags: JSON_FLAG,
    minArguments: 1,
    run: async (input, context) => {
      const [path = ''] = input.arguments;
      if (!existsSync(path)) throw new NotFoundError(`There is no file '${path}'.`);
      const { catalog, lines, mistakes } = checkCatalogFile(path, context.env, context.fileSettings);
      const tls = catalog && context.checkTls(catalog, dirname(path));
      const tlsLines = tls && !tls.ok ? [tls.line] : [];
      const ok = tls?.ok === true;
      const value = { ok, mistakes, problems: tlsLines, catalog: catalog ? catalogView(catalog) : null };
      printResult(input, context, value, [...lines, ...tlsLines]);
      return ok ? 0 : 1;
    },
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
