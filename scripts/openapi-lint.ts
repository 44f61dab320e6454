/**
 * `npm run openapi:lint`: the public document and the operators' in the eyes of Redocly (its recommended rules) and Spectral (its OpenAPI
 * rules). Every warning fails. Both are installed into a temporary folder; not part of `npm test`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from './agents/program.ts';
import { installTools } from './openapi/tools.ts';

const REDOCLY = '@redocly/cli@2.73.0';
const SPECTRAL = '@stoplight/spectral-cli@6.16.3';
const LINT_MS = 300_000;

const tools = await installTools([REDOCLY, SPECTRAL]);
try {
  writeFileSync(join(tools.folder, 'redocly.yaml'), 'extends: [recommended]\n');
  writeFileSync(join(tools.folder, 'spectral.yaml'), 'extends: ["spectral:oas"]\n');
  const failed = [
    await lint('the public API', tools.document),
    await lint("the operators' API", tools.operatorDocument),
  ];
  process.exitCode = failed.includes(true) ? 1 : 0;
} finally {
  tools.remove();
}

async function lint(name: string, document: string): Promise<boolean> {
  const redocly = await run('redocly', ['lint', document, '--format=stylish', '--max-problems=200']);
  // Redocly ends with 0 where there are only warnings.
  const redoclyWarns = redocly.exitCode !== 0 || /\b[1-9]\d* (?:warning|error|problem)/i.test(redocly.output);
  report(`${name}: Redocly`, REDOCLY, redoclyWarns, redocly.output);
  const spectral = await run('spectral', [
    'lint',
    document,
    '--ruleset=spectral.yaml',
    '--fail-severity=hint',
  ]);
  report(`${name}: Spectral`, SPECTRAL, spectral.exitCode !== 0, spectral.output);
  return redoclyWarns || spectral.exitCode !== 0;
}

function run(name: string, words: readonly string[]) {
  const { folder, environment } = tools;
  const command = [tools.program(name), ...words];
  return runProgram({ command, folder, environment, timeoutMs: LINT_MS });
}

function report(name: string, version: string, failed: boolean, output: string): void {
  if (failed) console.error(output);
  console.log(`${failed ? '✗' : '✓'} ${name} (${version}): ${failed ? 'see above' : 'no warnings'}`);
}
