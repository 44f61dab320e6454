/**
 * `npm run openapi:fuzz [-- SECONDS]`: Schemathesis makes requests from the public document, right and wrong ones, and
 * checks each answer against it. It is installed into a temporary folder; without Python there is nothing to run, which is
 * said and is no failure. Not part of `npm test`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApiDocument } from '../src/api/openapi.ts';
import { OPERATIONS } from '../src/api/operations.ts';
import { Gateway } from '../test/support/gateway.ts';
import { runProgram, type Finished } from './agents/program.ts';

const PIP_PACKAGE = 'schemathesis==4.32.5';
const USUAL_SECONDS = 240;
const INSTALL_MS = 600_000;
/** The same requests each time, so that a finding can be looked for again. */
const SEED = '1';
/** Checks that mean something else than this API promises, each with the reason. */
const LEFT_OUT = {
  // A valid body may still ask for a model, a size or a conversation that is not there.
  positive_data_acceptance: 'the document does not know the catalog',
  // Fields that are not known are passed on or ignored, as the clients of each dialect expect.
  negative_data_rejection: 'what is not known is not refused',
  // Ids are made up, and one account is all there is.
  object_level_authorization: 'there is one account',
};

const python = Bun.which('python3') ?? Bun.which('python');
if (python === null) {
  console.log('There is no Python on this machine, so Schemathesis was not run.');
  process.exit(0);
}
const seconds = Number(process.argv[2] ?? USUAL_SECONDS);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-fuzz-'));
const gateway = await Gateway.start({ env: { TOLLGATE_CONFIG: '' } });
try {
  const venv = join(folder, 'venv');
  await must([python, '-m', 'venv', venv]);
  await must([join(venv, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', '--no-input', PIP_PACKAGE]);
  const document = join(folder, 'openapi.json');
  writeFileSync(document, JSON.stringify(openApiDocument(OPERATIONS), withoutStreams));
  const account = await gateway.account('1000');
  const { exitCode, output } = await run([
    join(venv, 'bin', 'st'),
    'run',
    document,
    `--url=${gateway.url}`,
    `--seed=${SEED}`,
    `--header=Authorization: Bearer ${account.token}`,
    `--max-time=${seconds}`,
    '--continue-on-failure',
    '--checks=all',
    `--exclude-checks=${Object.keys(LEFT_OUT).join(',')}`,
    // What is loaded when it is first used takes longer on a busy machine than its ten seconds.
    '--request-timeout=60',
    // It takes an endpoint whose requests are all refused for one that is not set up.
    '--warnings=off',
  ]);
  console.log(output.slice(-20_000));
  await gateway.settled(account);
  const { breaches } = await gateway.verify();
  for (const breach of breaches) console.error(`✗ the books do not balance: ${JSON.stringify(breach)}`);
  process.exitCode = exitCode === 0 && breaches.length === 0 ? 0 : 1;
} finally {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** OpenAPI 3.1 describes a stream's whole text, which Schemathesis takes for the form of each event. */
function withoutStreams(key: string, value: unknown): unknown {
  return key === 'text/event-stream' ? {} : value;
}

function run(command: readonly string[]): Promise<Finished> {
  const environment = { ...(process.env as Record<string, string>), HOME: folder };
  return runProgram({ command, folder, environment, timeoutMs: INSTALL_MS + seconds * 1_000 });
}

async function must(command: readonly string[]): Promise<void> {
  const { exitCode, output } = await run(command);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${output.slice(-3_000)}`);
}
