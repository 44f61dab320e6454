/**
 * `npm run openapi:clients`: clients that are generated from the public document, and from that of operators, in TypeScript by openapi-typescript and
 * in Python by openapi-python-client. Each must be whole, compile, and get its answers from a local Tollgate. The generators
 * are installed into a temporary folder; without Python only TypeScript is checked, which is said. Not part of `npm test`.
 */
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { testConsole } from '../src/console/testing/harness.ts';
import { Gateway } from '../test/support/gateway.ts';
import { runProgram, type Finished } from './agents/program.ts';
import { installTools, type ToolFolder } from './openapi/tools.ts';

const NPM_PACKAGES = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
const PIP_PACKAGE = 'openapi-python-client==0.29.1';
const RUN_MS = 600_000;
const DAY_MS = 86_400_000;
const CALLS = join(import.meta.dir, 'openapi', 'generated');
const GUIDE = join(import.meta.dir, '..', 'docs', 'provision-customers.md');
const COMPILE = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
/** What this generator cannot know: the type of a picture. Anything else that it leaves out is a fault of the document. */
const EXPECTED_WARNING = 'WARNING parsing GET /api/public/v1/images/{id} within inference.';

const tools = await installTools(NPM_PACKAGES);
const gateway = await Gateway.start({ env: { TOLLGATE_CONFIG: '' } });
try {
  const { token } = await gateway.account('10');
  const environment = { ...tools.environment, TOLLGATE_URL: gateway.url, TOLLGATE_TOKEN: token };
  await checkTypeScript(tools, environment);
  await checkOperators(tools);
  await checkPython(tools, environment);
} finally {
  await gateway.stop();
  tools.remove();
}

async function checkTypeScript({ document }: ToolFolder, environment: Record<string, string>) {
  await callTyped('calls', document, environment);
}

/** A customer made and paid for through the operators' API, as the console's operations serve it. */
async function checkOperators({ operatorDocument, environment }: ToolFolder) {
  const site = await testConsole();
  try {
    const owner = await site.admin();
    const body = { name: 'a typed client', role: 'full', expiresAt: site.clock.now() + DAY_MS };
    const { token } = await owner.must<{ token: string }>('POST', '/api/console/admin/operator-tokens', body);
    const own = { TOLLGATE_URL: site.url, TOLLGATE_TOKEN: token };
    await callTyped('operator-calls', operatorDocument, { ...environment, ...own });
    const theirs = { URL: site.url, OPERATOR_TOKEN: token };
    await runGuide(operatorDocument, { ...environment, ...theirs });
  } finally {
    await site.close();
  }
}

/** The program of the guide, as it is printed. */
async function runGuide(document: string, environment: Record<string, string>): Promise<void> {
  const { program, folder } = tools;
  const [, code] = /```ts\n([\s\S]*?)```/.exec(await Bun.file(GUIDE).text()) ?? [];
  if (code === undefined) throw new Error(`${GUIDE} has no program`);
  await must([program('openapi-typescript'), document, '--output', join(folder, 'operator.d.ts')]);
  await Bun.write(join(folder, 'guide.mts'), code);
  await Bun.write(join(folder, 'node.d.ts'), 'declare const process: { env: Record<string, string> };');
  // The console of tests is behind a proxy, which names the client.
  const asProxy = `const send = fetch; globalThis.fetch = (request) => {
    request.headers.set('x-forwarded-for', '192.0.2.7'); return send(request); };`;
  await Bun.write(join(folder, 'as-proxy.mts'), asProxy);
  await must([program('tsc'), ...COMPILE, join(folder, 'node.d.ts'), join(folder, 'guide.mts')]);
  const { output } = await must(
    [process.execPath, '--preload', join(folder, 'as-proxy.mts'), join(folder, 'guide.mts')],
    environment,
  );
  if (!output.includes('eve@example.com has $50.00')) throw new Error(`the guide's program said ${output}`);
  console.log(
    '✓ openapi-typescript: the program of docs/provision-customers.md compiled, and did what it says',
  );
}

async function callTyped(name: string, document: string, environment: Record<string, string>) {
  const { program, folder } = tools;
  await must([program('openapi-typescript'), document, '--output', join(folder, `${name}-schema.ts`)]);
  copyFileSync(join(CALLS, `${name}.ts.txt`), join(folder, `${name}.mts`));
  await must([program('tsc'), ...COMPILE, join(folder, `${name}.mts`)]);
  const { output } = await must([process.execPath, join(folder, `${name}.mts`)], environment);
  console.log(`✓ openapi-typescript: ${name} compiled, ${output.split('\n').at(-1)}`);
}

async function checkPython({ folder, document }: ToolFolder, environment: Record<string, string>) {
  const python = Bun.which('python3') ?? Bun.which('python');
  if (python === null) {
    console.log('There is no Python on this machine, so its client was not made.');
    return;
  }
  const venv = join(folder, 'venv');
  await must([python, '-m', 'venv', venv]);
  const bin = join(venv, process.platform === 'win32' ? 'Scripts' : 'bin');
  await must([join(bin, 'python'), '-m', 'pip', 'install', '--quiet', '--no-input', PIP_PACKAGE]);
  const made = join(folder, 'made');
  const generate = ['generate', '--path', document, '--output-path', made];
  const { output } = await must([join(bin, 'openapi-python-client'), ...generate]);
  const warnings = output.match(/^(?:WARNING|ERROR|Unable).*$/gm) ?? [];
  const unexpected = warnings.filter((line) => line !== EXPECTED_WARNING);
  if (unexpected.length > 0) throw new Error(`the client is not whole:\n${unexpected.join('\n')}`);
  const name = readdirSync(made).find((entry) => entry.endsWith('_client')) ?? '';
  copyFileSync(join(CALLS, 'calls.py'), join(made, 'calls.py'));
  const run = await must([join(bin, 'python'), join(made, 'calls.py'), name], environment);
  console.log(`✓ openapi-python-client: ${run.output.split('\n').at(-1)}`);
}

async function must(
  command: readonly string[],
  environment: Record<string, string> = tools.environment,
): Promise<Finished> {
  const finished = await runProgram({ command, folder: tools.folder, environment, timeoutMs: RUN_MS });
  if (finished.exitCode !== 0)
    throw new Error(`${command.join(' ')} failed:\n${finished.output.slice(-3_000)}`);
  return finished;
}
