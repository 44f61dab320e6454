import { CASES, SMALL_CHAT, type Case } from '../cases.ts';
import { startTollgate, type TollgateOptions } from '../contenders/tollgate.ts';
import { seedAccounts, seedRequests } from '../harness/seed.ts';
import { costOf, type Cost } from './cost.ts';
import type { Curve, ScaleContext } from './curve.ts';
import { tenfoldSteps } from './sizes.ts';

/** Cost per request against the number of accounts, all of them called in turn as far as tokens were kept. */
export async function accountsCurve(ground: ScaleContext, most: number): Promise<Curve> {
  const one: Case = { ...SMALL_CHAT, accounts: Number.POSITIVE_INFINITY };
  const points = await curve(tenfoldSteps(10, most), async (count) => {
    let tokens: string[] = [];
    return await costWith(ground, one, {
      accounts: 0,
      prepare: async (services) => void (tokens = seedAccounts(services, count)),
      tokens: () => tokens,
    });
  });
  return { name: 'accounts', title: 'CPU per request against accounts', xLabel: 'accounts', points };
}

/** Cost per request against what is in the books already. */
export async function requestsCurve(ground: ScaleContext, most: number): Promise<Curve> {
  const points = await curve([0, ...tenfoldSteps(10_000, most)], (count) =>
    costWith(ground, SMALL_CHAT, {
      accounts: SMALL_CHAT.accounts,
      prepare: async (services) => {
        if (count > 0) seedRequests(services, count);
      },
    }),
  );
  return {
    name: 'requests',
    title: 'CPU per request against stored requests',
    xLabel: 'stored requests',
    points,
  };
}

/** Cost per request against the size of the catalog; the model asked for is its last. */
export async function catalogCurve(ground: ScaleContext, most: number): Promise<Curve> {
  const points = await curve(tenfoldSteps(10, most), (count) => {
    const last = `m${count - 1}`;
    const one: Case = { ...CASES[0]!, body: SMALL_CHAT.body.replace('"model":"m"', `"model":"${last}"`) };
    const moreModels = Array.from({ length: count - 1 }, (_, index) => modelLine(`m${index + 1}`)).join('\n');
    return costWith(ground, one, { accounts: one.accounts, moreModels });
  });
  return {
    name: 'catalog',
    title: 'CPU per request against models in the catalog',
    xLabel: 'models',
    points,
  };
}

type Setup = Pick<TollgateOptions, 'accounts' | 'prepare' | 'moreModels'> & {
  readonly tokens?: () => string[];
};

async function costWith(ground: ScaleContext, one: Case, { tokens, ...setup }: Setup): Promise<Cost> {
  const { backend, folder, forwarder, tools } = ground;
  const started = await startTollgate({ name: `scale-${++runs}`, backend, folder, ...setup });
  try {
    const headers = tokens
      ? tokens().map((token) => ({ authorization: `Bearer ${token}` }))
      : started.headers;
    return await costOf({ one, tollgate: { ...started, headers }, forwarder, tools });
  } finally {
    await started.stop();
  }
}

let runs = 0;

async function curve(
  sizes: readonly number[],
  measure: (size: number) => Promise<Cost>,
): Promise<Curve['points']> {
  const points: { x: number; cost: Cost }[] = [];
  for (const x of sizes) {
    const cost = await measure(x);
    console.log(
      `${x}: ${cost.tollgateUs.toFixed(1)} µs, bare forwarder ${cost.forwarderUs.toFixed(1)} µs, ${cost.errors} failed`,
    );
    points.push({ x, cost });
  }
  return points;
}

function modelLine(name: string): string {
  // Short: a catalog may have half a million characters.
  return `    - { model: ${name}, display_name: ${name}, input: 1, output: 2, context: 9000, max_output: 4096 }`;
}
