import type { Scene } from '../backend/scene.ts';
import { isWithin, share, until, usd, type Case, type Measured, type Stage } from '../case.ts';
import { chat, type Seen } from '../client.ts';

const CUTS = 4;
const MOST_CALLS = 4;
const OVER_MS = 20_000;
const MANY = 20;

export const REFUSALS: readonly Case[] = [
  {
    id: 'retry-500',
    title: 'A clean 500 with nothing done, and then an answer',
    bound: 'the client has the answer',
    needs: [],
    isAlone: true,
    async run(stage) {
      const { seen, calls } = await refused(stage, { refusals: [{ status: 500 }] });
      return { holds: seen.status === 200, figure: `${seen.status} after ${calls} calls` };
    },
  },
  free({
    id: 'failed-500',
    title: 'Nothing but 500',
    scene: { refusals: Array.from({ length: MANY }, () => ({ status: 500 })) },
  }),
  free({
    id: 'failed-stream',
    title: 'A stream that says 200, then an error and nothing else',
    scene: { errorFirst: true },
    stream: true,
  }),
  free({
    id: 'failed-429',
    title: 'Nothing but 429 with Retry-After: 1',
    scene: { refusals: Array.from({ length: MANY }, () => ({ status: 429, retryAfterSeconds: 1 })) },
  }),
  {
    id: 'cut-four-times',
    title: `${CUTS} requests whose whole answers are cut in the middle`,
    bound: `at most ${CUTS} billed calls`,
    needs: [],
    isAlone: true,
    async run(stage) {
      const account = stage.gateway.money && (await stage.account({ usd: 1 }));
      const scene = stage.backend.scene({ end: { afterWords: 50, how: 'cut' } });
      for (let cut = 0; cut < CUTS; cut++)
        await chat(stage.gateway, account, { prompt: `Tell of ${scene.cue}`, maxTokens: 200 });
      const billed = scene.calls().filter(({ billedUsd }) => billedUsd > 0).length;
      return { holds: billed >= 1 && billed <= CUTS, figure: `${billed} billed calls` };
    },
  },
  {
    id: 'idempotent',
    title: 'The same request twice, one after the other, with one Idempotency-Key',
    bound: 'one call, and one charge',
    needs: ['money'],
    isAlone: false,
    run: (stage) => repeated(stage, 'in turn'),
  },
  {
    id: 'idempotent-at-once',
    title: 'The same request five times at once with one Idempotency-Key',
    bound: 'one call, and one charge',
    needs: ['money'],
    isAlone: false,
    run: (stage) => repeated(stage, 'at once'),
  },
];

interface Free {
  readonly id: string;
  readonly title: string;
  readonly scene: Partial<Scene>;
  readonly stream?: boolean;
}

function free({ id, title, scene, stream = false }: Free): Case {
  return {
    id,
    title,
    bound: `nothing is charged, nothing stays held, and the backend is called at most ${MOST_CALLS} times`,
    needs: ['money'],
    isAlone: true,
    async run(stage) {
      const { spent, calls } = await refused(stage, scene, stream);
      return {
        holds: spent === 0 && calls >= 1 && calls <= MOST_CALLS,
        figure: `${usd(spent)} after ${calls} calls`,
      };
    },
  };
}

async function refused(
  stage: Stage,
  wish: Partial<Scene>,
  stream = false,
): Promise<{ readonly seen: Seen; readonly calls: number; readonly spent: number }> {
  const account = stage.gateway.money && (await stage.account({ usd: 1 }));
  const scene = stage.backend.scene(wish);
  const seen = await chat(stage.gateway, account, { prompt: `Tell of ${scene.cue}`, maxTokens: 200, stream });
  await stage.settled();
  return { seen, calls: scene.calls().length, spent: (await account?.spentUsd()) ?? 0 };
}

async function repeated(stage: Stage, how: 'in turn' | 'at once'): Promise<Measured> {
  const account = await stage.account({ usd: 1 });
  const scene = stage.backend.scene({ delayMs: 300 });
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const ask = () => chat(stage.gateway, account, { prompt: `Tell of ${scene.cue}`, maxTokens: 200, headers });
  if (how === 'at once') await Promise.all(Array.from({ length: 5 }, ask));
  else for (let time = 0; time < 2; time++) await ask();
  await until(() => scene.calls().every(({ isOver }) => isOver), OVER_MS);
  await stage.settled();
  const calls = scene.calls();
  const [first] = calls;
  const spent = await account.spentUsd();
  const once = first?.billedUsd ?? 0;
  return {
    holds: calls.length === 1 && isWithin(spent, once, [0.9, 1.1]),
    figure: `${calls.length} calls, ${share(spent, once)}`,
  };
}
