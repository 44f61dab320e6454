import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { catalogJsonSchema } from '../src/catalog/json-schema.ts';
import { SERVER_SETTINGS } from '../src/main/server-settings.ts';

/** Writes the catalog's JSON Schema for editors. Run it after a change of src/catalog/file-schema.ts or src/main/server-settings.ts. */
const path = join(import.meta.dir, '..', 'schema', 'tollgate.schema.json');
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, catalogJsonSchema(SERVER_SETTINGS));
// As `npm run format` leaves it, so that a diff shows what has changed in the schema alone.
execFileSync(join(import.meta.dir, '..', 'node_modules', '.bin', 'oxfmt'), [path]);
console.log(`wrote ${path}`);
