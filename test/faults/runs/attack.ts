import { join } from 'node:path';
import { SEND_TIMEOUT_MS } from '../../../src/outbox/sender.ts';
import { StripeStandIn } from '../../payments/stripe-stand-in.ts';
import { firstCustomer } from '../../support/attacked-server.ts';
import { eventually, NodeProcess, type NodeOptions } from '../../support/node-process.ts';
import { Operator } from '../../support/operator.ts';
import type { AttackPlan, AttackReport } from './attacker.ts';
import type { RunResult } from './judge.ts';
import type { VictimPlan, VictimReport } from './victim.ts';
import {
  customerWithWebhooks,
  measureMessages,
  WebhookReceivers,
  type MessageReport,
} from './webhook-receivers.ts';

/**
 * One attacker with fifty connections beside a victim with ten requests a second. Gateway, backend, attacker and victim
 * are processes of their own, so that none of them can be late because of another.
 */
export interface AttackRun {
  readonly alone: VictimReport;
  readonly attacked: VictimReport;
  readonly afterwards: VictimReport;
  /** Of a gateway on a store of its own that nobody attacks, at the same time as `afterwards`. */
  readonly control: VictimReport;
  readonly attacks: AttackReport;
  /** To the webhook of somebody whom nobody attacks. */
  readonly messages: { readonly alone: MessageReport; readonly attacked: MessageReport };
  readonly mostMegabytes: number;
  /**
   * During the attack, of the gateway's main thread. One that has waited longer than it has run says that the machine was
   * busy with something else, not that the gateway was late.
   */
  readonly ranMs: number;
  readonly waitedMs: number;
  /** What did not hold; none if all is well. */
  readonly faults: readonly string[];
}

export const ATTACK_SECONDS = 60;
const ATTACK_CONNECTIONS = 50;
const VICTIM_PER_SECOND = 10;
const MOST_LATER_MS = 300;
/**
 * How much later a message may reach its receiver. One that waited for a receiver that never answers would be this much later,
 * because that is when it is given up.
 */
const MOST_LATER_MESSAGE_MS = SEND_TIMEOUT_MS.webhook;
/** Accounts whose receivers never answer, and how many each has. */
const SLOW_ACCOUNTS = 4;
const WEBHOOKS_OF_AN_ACCOUNT = 5;
/** 150 MB of a server at rest, and four copies of the 200 MB of bodies that it takes at once: bytes, text, values, and what is sent or stored. */
const MOST_MEGABYTES = 950;
/** The server is as fast as before this long after the attack. */
const RECOVERY_MS = 10_000;
/** What two measurements of the same thing may differ by on a shared machine. */
const SAME_SPEED = { factor: 1.5, ms: 10 };
const WARM_UP_SECONDS = 3;
/** Six hundred requests, so that six are slower than the p99: with fewer it would be that of a single stall of the disk. */
const MEASURED_SECONDS = 60;

export interface AttackOptions {
  readonly seconds: number;
  /** A new, empty database of Postgres; absent, SQLite. */
  readonly freshDatabase?: () => Promise<string>;
  /** One attack alone, to see what it does. */
  readonly only?: string;
}

export async function runAttack(options: AttackOptions): Promise<AttackRun> {
  // The compressed answers come from another one: writing them keeps it busy, and that is not what is measured.
  const [backend, other] = await Promise.all([
    startChild('attack-backend.ts'),
    startChild('attack-backend.ts'),
  ]);
  const stripe = new StripeStandIn();
  const receivers = await WebhookReceivers.start();
  const how = {
    yaml: catalog(backend.line, other.line),
    env: { ...stripe.env, ...receivers.env },
  };
  const [target, spared] = [await start(how, options), await start(how, options)];
  const { node, operator } = target;
  try {
    const [attacker, penniless, painter] = await Promise.all([
      operator.account('1', DEFAULT_LIMITS),
      operator.account('0', DEFAULT_LIMITS),
      operator.account('1', DEFAULT_LIMITS),
    ]);
    const measureBoth = (seconds: number): Promise<VictimReport[]> =>
      Promise.all([measure(target, seconds), measure(spared, seconds)]);
    const cookie = await firstCustomer(node);
    const [early, late] = [
      await customerWithWebhooks(node, 'early@example.com', [receivers.url]),
      await customerWithWebhooks(node, 'late@example.com', [receivers.url]),
    ];
    const messages = (reader: string, seconds: number): Promise<MessageReport> =>
      measureMessages({ url: node.url, cookie: reader }, receivers, seconds);
    await measureBoth(WARM_UP_SECONDS);
    const shortly = Math.min(options.seconds, MEASURED_SECONDS);
    const [[alone], messagesAlone] = await Promise.all([measureBoth(shortly), messages(early, shortly)]);
    const attack: AttackPlan = {
      url: node.url,
      seconds: options.seconds,
      connections: ATTACK_CONNECTIONS,
      token: attacker.token,
      penniless: penniless.token,
      cookie,
      slowReceivers: await accountsWithSlowReceivers(node, receivers),
      painter: painter.token,
      image: await largeImage(node, painter.token),
      ...(options.only === undefined ? {} : { only: options.only }),
    };
    const before = node.mainThread();
    const [attacks, attacked, messagesAttacked] = await Promise.all([
      runChild<AttackReport>('attacker.ts', attack),
      measure(target, options.seconds),
      messages(late, options.seconds),
    ]);
    const after = node.mainThread();
    await Bun.sleep(RECOVERY_MS);
    const [afterwards, control] = await measureBoth(shortly);
    const mostMegabytes = node.mostMegabytes();
    const thread = { ranMs: after.ranMs - before.ranMs, waitedMs: after.waitedMs - before.waitedMs };
    const victim = { alone: alone!, attacked, afterwards: afterwards!, control: control! };
    const run = {
      ...victim,
      attacks,
      messages: { alone: messagesAlone, attacked: messagesAttacked },
      mostMegabytes,
      ...thread,
    };
    const faults = [
      ...faultsOf(run),
      ...messageFaults(run.messages),
      ...doorFaults(attacks, options.seconds),
      ...(receivers.slowCalls > 0 ? [] : ['no slow receiver was called']),
    ];
    return { ...run, faults: [...faults, ...(await bookFaults(node, operator))] };
  } finally {
    for (const gateway of [target, spared]) {
      await gateway.operator.close();
      await gateway.node.stop();
    }
    backend.stop();
    other.stop();
    await stripe.stop();
    await receivers.stop();
  }
}

/** As the page tells it. */
export function attackResult(store: string, seconds: number, run: AttackRun): RunResult {
  const { alone, attacked, afterwards, control, messages, mostMegabytes, faults } = run;
  const speeds = [alone, attacked, afterwards].map(({ p99Ms }) => p99Ms).join(' / ');
  return {
    faults: faults.map((fault) => `${store}: ${fault}`),
    told: `${store}: p99 alone / attacked / afterwards ${speeds} ms (${control.p99Ms} where nobody attacked), slowest message ${messages.alone.slowestMs} / ${messages.attacked.slowestMs} ms, ${mostMegabytes} MB`,
    shortened: seconds < ATTACK_SECONDS ? `only ${seconds} s` : undefined,
  };
}

interface MeasuredGateway {
  readonly node: NodeProcess;
  readonly operator: Operator;
  readonly token: string;
}

async function start(
  how: Pick<NodeOptions, 'yaml' | 'env'>,
  { freshDatabase }: AttackOptions,
): Promise<MeasuredGateway> {
  const node = await NodeProcess.start({
    ...how,
    ...(freshDatabase && { databaseUrl: await freshDatabase() }),
  });
  const operator = await Operator.open(node.env);
  const { token } = await operator.account('100');
  return { node, operator, token };
}

function measure({ node, token }: MeasuredGateway, seconds: number): Promise<VictimReport> {
  const plan: VictimPlan = { url: node.url, token, seconds, perSecond: VICTIM_PER_SECOND };
  return runChild<VictimReport>('victim.ts', plan);
}

/** Their sessions. */
async function accountsWithSlowReceivers(node: NodeProcess, receivers: WebhookReceivers): Promise<string[]> {
  const cookies: string[] = [];
  for (let account = 0; account < SLOW_ACCOUNTS; account++) {
    const hooks = Array.from({ length: WEBHOOKS_OF_AN_ACCOUNT }, (_, hook) => `${account}/${hook}`);
    const urls = hooks.map((hook) => receivers.slowUrl(hook));
    cookies.push(await customerWithWebhooks(node, `slow${account}@example.com`, urls));
  }
  return cookies;
}

/** Its address. */
async function largeImage(node: NodeProcess, token: string): Promise<string> {
  const response = await fetch(`${node.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc_image/large', prompt: 'x', response_format: 'url' }),
  });
  const { data } = (await response.json()) as { data: { url: string }[] };
  return data[0]!.url;
}

/** Those that a new account has. */
const DEFAULT_LIMITS = { chat: 600, images: 60, concurrent: 50 };

function faultsOf(run: Omit<AttackRun, 'faults' | 'messages'>): string[] {
  const { alone, attacked, afterwards, control, mostMegabytes } = run;
  const faults: string[] = [];
  for (const [phase, { sent, succeeded, failures }] of Object.entries({ alone, attacked, afterwards }))
    if (succeeded < sent)
      faults.push(`${phase}: ${sent - succeeded} of ${sent} failed: ${JSON.stringify(failures)}`);
  const later = attacked.p99Ms - alone.p99Ms;
  if (later > MOST_LATER_MS) faults.push(`p99 is ${later} ms later than alone`);
  if (mostMegabytes >= MOST_MEGABYTES) faults.push(`the gateway took ${mostMegabytes} MB`);
  for (const key of ['p50Ms', 'p99Ms'] as const) {
    // Where the gateway that nobody attacked is slower now as well, the machine is.
    const expected = Math.max(alone[key], control[key]);
    if (afterwards[key] > expected * SAME_SPEED.factor + SAME_SPEED.ms)
      faults.push(`${key} is ${afterwards[key]} afterwards, was ${alone[key]}, is ${control[key]} elsewhere`);
  }
  return faults;
}

function messageFaults({ alone, attacked }: AttackRun['messages']): string[] {
  const lost = [alone, attacked].map(({ sent, received }) => sent - received);
  const later = attacked.slowestMs - alone.slowestMs;
  return [
    ...(lost.every((count) => count === 0)
      ? []
      : [`messages lost alone and attacked: ${lost.join(' and ')}`]),
    ...(later > MOST_LATER_MESSAGE_MS ? [`a message came ${later} ms later than alone`] : []),
  ];
}

/** Of wrong passwords a network has thirty at once, and one more each ten seconds. */
const SIGN_INS = { atOnce: 30, everySeconds: 10 };

/** What nobody may get, whoever asks. */
function doorFaults(attacks: AttackReport, seconds: number): string[] {
  const faults = Object.entries(attacks).flatMap(([name, { told }]) =>
    told === undefined ? [] : [`${name}: ${told} answers tell what is no customer's business`],
  );
  const metrics = attacks['metrics through a proxy']?.['200'];
  if (metrics !== undefined) faults.push(`strangers got metrics ${metrics} times`);
  const guesses = attacks['wrong password through a proxy']?.['401'] ?? 0;
  if (guesses > SIGN_INS.atOnce + seconds / SIGN_INS.everySeconds + 1)
    faults.push(`one network guessed ${guesses} passwords`);
  return faults;
}

async function bookFaults(node: NodeProcess, operator: Operator): Promise<string[]> {
  if (!node.alive) return ['the gateway has ended'];
  await eventually('nothing is held', async () => (await operator.pending()) === 0, 60_000);
  const { code, output } = await node.cli('verify', '--full', '--json');
  const told = operator.tokens.some((token) => node.log.includes(token));
  const ours = /^.*internal_error.*$/m.exec(node.log)?.[0];
  return [
    ...(code === 0 ? [] : [`verify: ${output}`]),
    ...(told ? ['a token is in the log'] : []),
    ...(ours === undefined ? [] : [`logged as our own mistake: ${ours}`]),
  ];
}

interface Child {
  /** The first line that it printed. */
  readonly line: string;
  stop(): void;
}

async function startChild(file: string): Promise<Child> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, file)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { value } = await child.stdout.getReader().read();
  return { line: new TextDecoder().decode(value).trim(), stop: () => child.kill('SIGKILL') };
}

async function runChild<Report>(file: string, plan: object): Promise<Report> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, file)], {
    stdin: new TextEncoder().encode(JSON.stringify(plan)),
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '20000' },
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${file} ended badly: ${text}`);
  return JSON.parse(text) as Report;
}

function catalog(port: string, otherPort: string): string {
  const model = (name: string): string =>
    `{ model: ${name}, input: 1, output: 2, context: 10000000, max_output: 1000 }`;
  return `
trusted_proxies: [127.0.0.1]
upstreams:
  b: { kind: openai, base_url: "http://127.0.0.1:${port}/v1" }
  other: { kind: openai, base_url: "http://127.0.0.1:${otherPort}/v1" }
  house: { kind: house }
lists:
  models: [${['m', 'limited', 'refused', 'telling'].map(model).join(', ')}]
  bombs: [${model('bomb')}, ${model('brackets')}]
  house_models: [{ model: house-echo, input: 0.05, output: 0.20 }]
  images:
    - { model: p, image: 0.001, sizes: [512x512] }
    - { model: large, image: 0.001, sizes: [512x512] }
    - { model: edit, image: 0.001, sizes: [512x512], abilities: { reference_images: 16, mask: true } }
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [b] }
  svc_bomb: { name: bombs, type: chat_completion, lists: [bombs], upstreams: [other] }
  svc_house: { name: house, type: chat_completion, lists: [house_models], upstreams: [house] }
  svc_image: { name: images, type: image_generation, lists: [images], upstreams: [b] }
`;
}
