/**
 * The longest that the worst allowed bodies keep the event loop in one step; more than 50 ms is too long. No test, because
 * it would be one of this machine's speed. Usage: bun bench/longest-steps.ts [words of a case]
 */
import { join } from 'node:path';
import { catalogFor } from '../test/support/gateway.ts';
import { BackendProcess, eventually, NodeProcess } from '../test/support/node-process.ts';
import { table } from './harness/table.ts';
import { worstBodies, type WorstBody } from './steps/worst-bodies.ts';

const ROUNDS = 3;
const [wanted = ''] = process.argv.slice(2);

const backend = await BackendProcess.start();
const node = await NodeProcess.start({
  yaml: withHouse(catalogFor([backend.baseUrl])),
  bunFlags: ['--preload', join(import.meta.dir, 'steps/sampler.ts')],
});
const made = await node.cli('account', 'create', 'steps@example.com', '--balance', '5000', '--json');
const { token } = JSON.parse(made.output) as { token: string };

const rows: string[][] = [];
for (const body of worstBodies().filter(({ name }) => name.includes(wanted))) {
  // The first round compiles.
  await send(body);
  await longestStep();
  const steps: Step[] = [];
  let status = 0;
  for (let round = 0; round < ROUNDS; round++) {
    status = await send(body);
    steps.push(await longestStep());
  }
  const least = (read: (step: Step) => number): string => Math.min(...steps.map(read)).toFixed(0);
  rows.push([body.name, String(status), least(({ cpuMs }) => cpuMs), least(({ wallMs }) => wallMs)]);
}
console.log(table(['body', 'status', 'longest step, processor ms', 'by the clock, ms'], rows));
await node.stop();
await backend.stop();

interface Step {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function send({ path, body }: WorstBody): Promise<number> {
  const response = await fetch(`${node.url}${path}`, {
    method: 'POST',
    keepalive: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

async function longestStep(): Promise<Step> {
  const before = reports().length;
  node.signal('SIGUSR2');
  await eventually('the server told its longest step', () => reports().length > before);
  return JSON.parse(reports().at(-1) ?? '{}') as Step;
}

function reports(): string[] {
  return [...node.log.matchAll(/^longest step (\{.*\})$/gm)].map(([, json = '']) => json);
}

function withHouse(yaml: string): string {
  return yaml
    .replace('upstreams:\n', 'upstreams:\n  house: { kind: house }\n')
    .replace(
      'lists:\n',
      'lists:\n  house_models:\n    - { model: house-echo, display_name: Echo, free: true, context: 10000000, max_output: 100000, tools: true }\n',
    )
    .replace(
      'endpoints:\n',
      'endpoints:\n  house_chat: { name: House, type: chat_completion, lists: [house_models], upstreams: [house] }\n',
    );
}
