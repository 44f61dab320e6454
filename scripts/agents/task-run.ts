import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RecordingProxy } from '../../test/clients/recording-proxy.ts';
import { catalogFor, Gateway } from '../../test/support/gateway.ts';
import { ScriptedBackend } from '../../test/support/scripted-backend.ts';
import { putFiles, type Agent, type Place } from './cast.ts';
import { FINAL_TEXT, scriptedModelResponse, USED } from './model.ts';
import { runProgram, type Finished, type Program } from './program.ts';

const RUN_MS = 180_000;
const CONTENT = 'hello from tollgate';
/** The catalog's prices are 1 and 2 USD per million tokens. */
const NANO_PER_ANSWER = USED.input * 1_000 + USED.output * 2_000;

/** Where an agent was put: its program, and a folder for what it does. */
export interface Installed {
  readonly program: readonly string[];
  readonly folder: string;
}

/** What happened in one run, at both ends of Tollgate and in its books. */
export interface TaskRun extends Finished {
  readonly place: Place;
  readonly file: string | undefined;
  readonly exchanges: RecordingProxy['exchanges'];
  readonly receipts: Awaited<ReturnType<Gateway['requests']>>;
  readonly backendCalls: number;
  readonly balanceNanoUsd: number;
  readonly breaches: readonly unknown[];
}

/** Lets an agent do the task through a Tollgate of its own, with so many dollars on the account. */
export async function runTask(
  agent: Agent,
  installed: Installed,
  { usd, token }: { readonly usd: string; readonly token?: string },
): Promise<TaskRun> {
  const backend = new ScriptedBackend();
  const gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  const proxy = new RecordingProxy(gateway.url);
  try {
    const account = await gateway.account(usd);
    const place = makePlace(installed.folder, proxy.url, token ?? account.token);
    const file = join(place.project, 'hello.txt');
    backend.script((call) => scriptedModelResponse(call, agent.writeFile(file, CONTENT)));
    await putFiles(agent.files(place));
    const environment = { ...basics(place.home), ...agent.environment(place) };
    const runs = { folder: place.project, environment, timeoutMs: RUN_MS };
    if (agent.setUp) await setUp([...installed.program, ...agent.setUp(place)], runs);
    const command = [...installed.program, ...agent.arguments];
    const finished = await runProgram({ command, ...runs });
    await gateway.settled(account);
    return {
      ...finished,
      place,
      file: existsSync(file) ? readFileSync(file, 'utf8') : undefined,
      exchanges: proxy.exchanges,
      receipts: await gateway.requests(account),
      backendCalls: backend.calls.length,
      balanceNanoUsd: (await gateway.money(account)).balance,
      breaches: (await gateway.verify()).breaches,
    };
  } finally {
    await proxy.stop();
    await gateway.stop();
    await backend.stop();
  }
}

async function setUp(command: readonly string[], runs: Omit<Program, 'command'>): Promise<void> {
  const { exitCode, output } = await runProgram({ command, ...runs });
  if (exitCode !== 0) throw new Error(`it could not be set up:\n${output.slice(-2_000)}`);
}

function makePlace(root: string, url: string, token: string): Place {
  const folder = mkdtempSync(join(root, 'run-'));
  const place = { home: join(folder, 'home'), project: join(folder, 'project'), url, token };
  mkdirSync(place.home);
  mkdirSync(place.project);
  return place;
}

/** All that a program here sees of the machine. */
function basics(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'dumb', LANG: 'C.UTF-8' };
}

/** What is wrong with a run that had money; nothing, if all went well. */
export function problemsWith(run: TaskRun): string[] {
  const { receipts } = run;
  const charged = receipts.reduce((sum, receipt) => sum + receipt.charged, 0);
  const rules: [boolean, string][] = [
    [!run.timedOut && run.exitCode === 0, `it ended with ${run.timedOut ? 'a timeout' : run.exitCode}`],
    [run.file === CONTENT, 'the file is not what was asked for'],
    [run.output.includes(FINAL_TEXT), 'it did not print the answer'],
    [receipts.length === run.backendCalls && receipts.length >= 2, 'receipts and backend calls differ'],
    [
      receipts.every(({ state, outcome }) => state === 'posted' && outcome === 'completed'),
      'a receipt is not settled',
    ],
    [receipts.every((receipt) => receipt.charged === NANO_PER_ANSWER), 'a charge is wrong'],
    [run.balanceNanoUsd === 1_000_000_000 - charged, 'the balance is wrong'],
    [run.breaches.length === 0, 'the books do not balance'],
  ];
  return rules.flatMap(([holds, complaint]) => (holds ? [] : [complaint]));
}

/** The same for a run without money: it must cost nothing, do nothing and say why. */
export function problemsWithoutMoney(run: TaskRun): string[] {
  const answers = run.exchanges.filter(({ method }) => method === 'POST');
  const rules: [boolean, string][] = [
    [!run.timedOut && run.exitCode !== 0, 'without money it did not end in an error'],
    [run.output.includes('The balance is used up'), 'without money it did not say so'],
    [answers.length > 0 && answers.every(({ status }) => status === 402), 'without money it was answered'],
    [run.backendCalls === 0 && run.file === undefined, 'without money work was done'],
  ];
  return rules.flatMap(([holds, complaint]) => (holds ? [] : [complaint]));
}

/** The same for a run with a key that is none: retrying would only let somebody wait. */
export function problemsWithWrongKey(run: TaskRun): string[] {
  const answers = run.exchanges.filter(({ method }) => method === 'POST');
  const rules: [boolean, string][] = [
    [!run.timedOut && run.exitCode !== 0, 'with a wrong key it did not end in an error'],
    [answers.length === 1 && answers[0]?.status === 401, `with a wrong key it asked ${answers.length} times`],
    [run.backendCalls === 0 && run.file === undefined, 'with a wrong key work was done'],
  ];
  return rules.flatMap(([holds, complaint]) => (holds ? [] : [complaint]));
}
