import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { operatorAnswers } from './openapi/operator-answers.ts';

/** Writes what the operators' API answers with, for its document. Run it after a change of what an operation answers. */
const path = join(import.meta.dir, '..', 'schema', 'operator-answers.json');
writeFileSync(path, JSON.stringify(await operatorAnswers()));
execFileSync(join(import.meta.dir, '..', 'node_modules', '.bin', 'oxfmt'), [path]);
console.log(`wrote ${path}`);
