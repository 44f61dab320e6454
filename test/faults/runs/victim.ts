/**
 * The victim of the attack run, in a process of its own: so many requests a second at even times, whether or not earlier
 * ones were answered. Prints how many were, and how late.
 */
export interface VictimPlan {
  readonly url: string;
  readonly token: string;
  readonly seconds: number;
  readonly perSecond: number;
}

export interface VictimReport {
  readonly sent: number;
  readonly succeeded: number;
  /** Answers that are none, by status and code. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

const PATIENCE_MS = 60_000;

async function request({ url, token }: VictimPlan): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'svc_chat/m',
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 5,
      }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    if (response.status === 200 && text.includes('"choices"')) return undefined;
    return `${response.status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 60)}`;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.name : String(thrown);
  }
}

async function run(plan: VictimPlan): Promise<VictimReport> {
  const times: number[] = [];
  const failures: Record<string, number> = {};
  const one = async (): Promise<void> => {
    const sentAt = performance.now();
    const failure = await request(plan);
    times.push(performance.now() - sentAt);
    if (failure !== undefined) failures[failure] = (failures[failure] ?? 0) + 1;
  };
  const startedAt = performance.now();
  const total = plan.seconds * plan.perSecond;
  const running: Promise<void>[] = [];
  for (let index = 0; index < total; index++) {
    await Bun.sleep(Math.max(0, startedAt + (index * 1_000) / plan.perSecond - performance.now()));
    running.push(one());
  }
  await Promise.all(running);
  times.sort((one, other) => one - other);
  const at = (share: number): number => Math.round(times[Math.ceil(times.length * share) - 1] ?? 0);
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  return {
    sent: total,
    succeeded: total - failed,
    failures,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    slowestMs: at(1),
  };
}

const plan = JSON.parse(await Bun.stdin.text()) as VictimPlan;
console.log(JSON.stringify(await run(plan)));
process.exit(0);
