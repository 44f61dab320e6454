import { dirname } from 'node:path';
import { catalogExample, catalogSchema, checkCatalogFile } from './catalog.ts';
import type { CliCommand } from './command.ts';

export const catalogCommands: readonly CliCommand[] = [
  {
    name: 'catalog check',
    usage: 'FILE',
    about: 'list what a catalog file sells, or its mistakes with their lines',
    flags: {},
    minArguments: 1,
    run: async ({ arguments: [path = ''] }, context) => {
      const { catalog, lines } = checkCatalogFile(path, context.env, context.fileSettings);
      for (const line of lines) context.print(line);
      const tls = catalog && context.checkTls(catalog, dirname(path));
      if (tls && !tls.ok) context.print(tls.line);
      return tls?.ok === true ? 0 : 1;
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
