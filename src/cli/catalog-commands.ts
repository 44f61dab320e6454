import { dirname } from 'node:path';
import { priceDifferences } from '../catalog/import/price-check.ts';
import { catalogImportCommand } from './catalog-import.ts';
import { catalogExample, catalogSchema, checkCatalogFile, checkedCatalog } from './catalog.ts';
import type { CliCommand } from './command.ts';

export const catalogCommands: readonly CliCommand[] = [
  catalogImportCommand,
  {
    name: 'catalog check',
    usage: '[FILE]',
    about:
      'list what a catalog file sells, and where its prices are not those of the public list; or its mistakes with their lines',
    flags: {},
    minArguments: 0,
    run: async ({ arguments: [path] }, context) => {
      const { catalog, lines } =
        path === undefined
          ? await context.withCatalog(async (current) => checkedCatalog(current))
          : checkCatalogFile(path, context.env, context.fileSettings);
      for (const line of lines) context.print(line);
      if (!catalog) return 1;
      for (const line of await priceDifferences(catalog)) context.print(line);
      const tls = context.checkTls(catalog, path === undefined ? undefined : dirname(path));
      if (!tls.ok) context.print(tls.line);
      return tls.ok ? 0 : 1;
    },
  },
  {
    name: 'catalog example',
    usage: '',
    about: 'print a catalog file to start from',
    flags: {},
    minArguments: 0,
    run: async (_, { print }) => {
      print(catalogExample());
      return 0;
    },
  },
  {
    name: 'catalog schema',
    usage: '',
    about: 'print the JSON Schema of a catalog file, for editors',
    flags: {},
    minArguments: 0,
    run: async (_, { fileSettings, print }) => {
      print(catalogSchema(fileSettings));
      return 0;
    },
  },
];
