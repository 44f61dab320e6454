import { InvoiceBackend } from './backend/backend.ts';
import { judge, pause, type Case, type Finding } from './case.ts';
import { chat } from './client.ts';
import type { Account, Adapter, AdapterContext, Gateway } from './gateway.ts';
import { installing } from './machine/install.ts';

/** What one gateway did in all rounds. */
export interface GatewayReport {
  readonly name: string;
  readonly about: string;
  /** Absent where it could not be had or started here. */
  readonly gateway?: Pick<Gateway, 'version' | 'settings' | 'shims'>;
  readonly notRun?: string;
  readonly startMs?: number;
  /** To make one customer with a balance, over its API or command line. */
  readonly accountMs?: number;
  readonly rounds: readonly (readonly Finding[])[];
}

/** Longer than the slowest case, which waits for a minute to turn. */
const CASE_MS = 240_000;

export interface RunOptions {
  readonly cases: readonly Case[];
  readonly rounds: number;
  readonly folder: string;
  readonly log: (line: string) => void;
}

export async function runAdapter(adapter: Adapter, options: RunOptions): Promise<GatewayReport> {
  const { name, about } = adapter;
  // A gateway that is already running was told where its backend is.
  const backend = await InvoiceBackend.start(Number(process.env['BACKEND_PORT'] ?? 0));
  const startedAt = Date.now();
  const installedBefore = installing.ms;
  let gateway: Gateway | undefined;
  try {
    const context: AdapterContext = { backend, folder: options.folder };
    gateway = await adapter.start(context);
    const installMs = installing.ms - installedBefore;
    const startMs = Date.now() - startedAt - installMs;
    const accountMs = await timeOfAccount(gateway);
    const installed = installMs > 0 ? `installed in ${Math.round(installMs / 1000)} s, ` : '';
    options.log(`${name}: ${gateway.version} ${installed}started in ${(startMs / 1000).toFixed(1)} s`);
    const rounds: Finding[][] = [];
    let cases = options.cases;
    for (let round = 1; round <= options.rounds && cases.length > 0; round++) {
      options.log(`${name}: round ${round} of ${options.rounds}`);
      const findings = await runRound(gateway, backend, { ...options, cases });
      rounds.push(findings);
      cases = stillOpen(findings);
    }
    const { version, settings, shims } = gateway;
    const times = { startMs, ...(accountMs === undefined ? {} : { accountMs }) };
    return { name, about, gateway: { version, settings, shims }, ...times, rounds };
  } catch (error) {
    return { name, about, notRun: String(error instanceof Error ? error.message : error), rounds: [] };
  } finally {
    await gateway?.stop();
    await backend.close();
  }
}

/** What was broken once needs no other round, and what is not offered will not be. */
function stillOpen(findings: readonly Finding[]): Case[] {
  return findings
    .filter(({ verdict }) => verdict === 'holds' || verdict === 'not played')
    .map((finding) => finding.case);
}

async function timeOfAccount({ money }: Gateway): Promise<number | undefined> {
  if (money === undefined) return undefined;
  const startedAt = performance.now();
  await money.account({ usd: 1 });
  return performance.now() - startedAt;
}

/** Cases that leave the gateway alone run together; the others one after the other. */
export async function runRound(
  gateway: Gateway,
  backend: InvoiceBackend,
  { cases, log }: Pick<RunOptions, 'cases' | 'log'>,
): Promise<Finding[]> {
  const findings = new Map<Case, Finding>();
  const one = async (wanted: Case): Promise<void> => {
    const found = await inTime(wanted, judge(wanted, gateway, backend));
    findings.set(wanted, found);
    log(`  ${MARKS[found.verdict]} ${wanted.id}: ${found.figure}`);
  };
  const prober = await gateway.money?.account({ usd: 1 });
  await untilServing({ gateway, backend, prober });
  await Promise.all(cases.filter(({ isAlone }) => !isAlone).map(one));
  for (const wanted of cases.filter(({ isAlone }) => isAlone)) {
    await untilServing({ gateway, backend, prober });
    await one(wanted);
  }
  return cases.flatMap((wanted) => findings.get(wanted) ?? []);
}

/**
 * Each of its nodes. One that has just started may not have read its settings yet, and after a backend's failures a gateway may
 * leave it alone for a while: no case pays for what was before it.
 */
async function untilServing({ gateway, backend, prober }: Probe): Promise<void> {
  const deadline = Date.now() + SERVING_MS;
  for (const node of gateway.nodes.keys()) {
    while (!(await serves({ gateway, backend, prober }, node)) && Date.now() < deadline) await pause(1_000);
  }
}

async function serves({ gateway, backend, prober }: Probe, node: number): Promise<boolean> {
  const { cue } = backend.scene({ words: 5 });
  const { status } = await chat(gateway, prober, { prompt: `Tell of ${cue}`, maxTokens: 10, node });
  return status === 200;
}

const SERVING_MS = 60_000;

interface Probe {
  readonly gateway: Gateway;
  readonly backend: InvoiceBackend;
  readonly prober: Account | undefined;
}

export const MARKS = { holds: '✓', fails: '✗', 'not offered': '–', 'not played': '?' } as const;

async function inTime(wanted: Case, judged: Promise<Finding>): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<Finding>();
  const timer = setTimeout(
    () => resolve({ case: wanted, verdict: 'fails', figure: `no end in ${CASE_MS / 1000} s` }),
    CASE_MS,
  );
  try {
    return await Promise.race([judged, promise]);
  } catch (error) {
    // A case that could not be played says so, and the others go on.
    return { case: wanted, verdict: 'not played', figure: String(error).slice(0, 120) };
  } finally {
    clearTimeout(timer);
  }
}
