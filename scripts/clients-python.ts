/**
 * `npm run clients:python`: the real Python packages of OpenAI, Anthropic and Google against a local Tollgate, with
 * nothing changed but base URL, key and model; every answer and every charge is checked. The packages are installed into a
 * temporary folder. Without Python there is nothing to run, which is said and is no failure. Not part of `npm test`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPERATIONS } from '../src/api/operations.ts';
import { runProgram } from './agents/program.ts';
import { expectedFacts, type PythonClient, type ToldFact } from './python-clients/expected.ts';
import { startPythonTarget } from './python-clients/server.ts';

const INSTALL_MS = 600_000;
const RUN_MS = 180_000;
const HERE = join(import.meta.dir, 'python-clients');

const python = Bun.which('python3') ?? Bun.which('python');
if (python === null) {
  console.log('There is no Python on this machine, so its clients were not run.');
  process.exit(0);
}

const speaksGemini = OPERATIONS.some(({ path }) => path.includes(':generateContent'));
const clients: PythonClient[] = ['openai', 'anthropic', ...(speaksGemini ? (['google-genai'] as const) : [])];
const folder = mkdtempSync(join(tmpdir(), 'tollgate-python-'));
const environment = { PATH: process.env['PATH'] ?? '', HOME: folder, LANG: 'C.UTF-8' };
let failures = 0;
try {
  const venv = join(folder, 'venv');
  await must([python, '-m', 'venv', venv]);
  const bin = join(venv, process.platform === 'win32' ? 'Scripts' : 'bin', 'python');
  const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
  await must([bin, '-m', 'pip', 'install', ...options, ...clients]);
  const { output } = await must([bin, '-m', 'pip', 'freeze', '--disable-pip-version-check']);
  const versions = output.split('\n').filter((line) => clients.some((name) => line.startsWith(`${name}==`)));
  console.log(versions.join(', '));
  for (const client of clients) failures += await check(client, bin);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(failures === 0 ? `${clients.length} Python clients: all as expected` : `${failures} failures`);
process.exit(failures === 0 ? 0 : 1);

async function must(command: readonly string[]) {
  const finished = await runProgram({ command, folder, environment, timeoutMs: INSTALL_MS });
  if (finished.exitCode !== 0)
    throw new Error(`${command.join(' ')} failed:\n${finished.output.slice(-2_000)}`);
  return finished;
}

/** How many of its cases are not as expected. */
async function check(client: PythonClient, bin: string): Promise<number> {
  const target = await startPythonTarget();
  try {
    const finished = await runProgram({
      command: [bin, join(HERE, `${client.replaceAll('-', '_')}_client.py`)],
      folder,
      environment: { ...environment, ...target.environment },
      timeoutMs: RUN_MS,
    });
    await target.gateway.settled(target.rich);
    const told = finished.output
      .split('\n')
      .filter((line) => line.startsWith('{"case"'))
      .map((line) => JSON.parse(line) as ToldFact);
    const problems = [
      ...(finished.exitCode === 0
        ? []
        : [`it ended with ${finished.exitCode}:\n${finished.output.slice(-2_000)}`]),
      ...(await problemsOf(client, told, target)),
    ];
    for (const problem of problems) console.error(`✗ ${client}: ${problem}`);
    if (problems.length === 0) console.log(`✓ ${client}: ${told.length} cases`);
    return problems.length;
  } finally {
    await target.stop();
  }
}

async function problemsOf(
  client: PythonClient,
  told: readonly ToldFact[],
  { gateway, rich }: Awaited<ReturnType<typeof startPythonTarget>>,
): Promise<string[]> {
  const problems: string[] = [];
  let charged = 0;
  for (const { charge, ...expected } of expectedFacts(client)) {
    const fact = told.find((one) => one.case === expected.case);
    const { request, ...seen } = fact ?? { case: 'missing' };
    if (!Bun.deepEquals(seen, expected))
      problems.push(`${expected.case}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`);
    if (charge === undefined) continue;
    const receipt = request === undefined ? undefined : await gateway.receipt(request);
    charged += charge;
    if (receipt?.charged !== charge)
      problems.push(`${expected.case}: charged ${receipt?.charged} instead of ${charge}`);
  }
  const { balance } = await gateway.money(rich);
  if (balance !== 1_000_000_000 - charged)
    problems.push(`the balance is ${balance}, ${charged} were charged`);
  const { breaches } = await gateway.verify();
  return breaches.length === 0 ? problems : [...problems, 'the books do not balance'];
}
