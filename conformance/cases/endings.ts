import { text } from '../backend/words.ts';
import { SILENCE_MS, type InvoiceBackend } from '../backend/backend.ts';
import type { Scene } from '../backend/scene.ts';
import { isWithin, pause, share, until, usd, type Case, type Measured, type Stage } from '../case.ts';
import { chat, type ChatWish } from '../client.ts';
import { isAnswered } from './bursts.ts';

const WORDS = 400;
const LEFT_AFTER = 20;
/** Of a stream at 10 ms a word, what may come until the backend hears of it. */
const MOST_MORE = 100;
const CLOSE: readonly [number, number] = [0.9, 1.1];
const ANSWERED = 50;
const UNDER_WAY = 50;
const OVER_MS = 30_000;

export const ENDINGS: readonly Case[] = [
  ended({
    id: 'left-stream',
    title: `A client leaves a stream after ${LEFT_AFTER} of ${WORDS} tokens`,
    scene: { words: WORDS, wordMs: 10 },
    wish: { stream: true, leave: { afterPieces: LEFT_AFTER } },
  }),
  {
    id: 'left-stops',
    title: 'The same: the backend is told',
    bound: `it generates at most ${LEFT_AFTER + MOST_MORE} tokens`,
    needs: [],
    isAlone: true,
    async run(stage) {
      const account = stage.gateway.money && (await stage.account({ usd: 1 }));
      const scene = stage.backend.scene({ words: WORDS, wordMs: 10 });
      await chat(stage.gateway, account, {
        prompt: `Tell of ${scene.cue}`,
        stream: true,
        leave: { afterPieces: LEFT_AFTER },
      });
      await until(() => scene.calls().every(({ isOver }) => isOver), OVER_MS);
      const tokens = scene.calls()[0]?.work.outputTokens ?? 0;
      return {
        holds: tokens >= LEFT_AFTER && tokens <= LEFT_AFTER + MOST_MORE,
        figure: `${tokens} generated`,
      };
    },
  },
  ended({
    id: 'left-early',
    title: 'A client leaves before the first token of a stream, after 1,000 tokens of input',
    scene: { words: WORDS, wordMs: 10, delayMs: 1_000 },
    wish: { stream: true, leave: { afterMs: 400 } },
    inputWords: 1_000,
  }),
  ended({
    id: 'left-whole',
    title: 'A client leaves while it waits for a whole answer, which the backend finishes',
    scene: { delayMs: 1_000 },
    wish: { leave: { afterMs: 400 } },
  }),
  ended({
    id: 'left-thinking',
    title: 'A client leaves while a model thinks out of sight (300 tokens)',
    scene: { words: 50, reasoningTokens: 300, wordMs: 5 },
    wish: { stream: true, leave: { afterMs: 700 } },
    thinks: true,
  }),
  ended({
    id: 'left-tool-call',
    title: `A client leaves a streamed tool call of ${WORDS} tokens after 700 ms`,
    scene: { words: WORDS, wordMs: 10, toolCall: true },
    wish: { stream: true, leave: { afterMs: 700 } },
  }),
  ended({
    id: 'broken-stream',
    title: 'The backend breaks off a stream after 200 tokens',
    scene: { words: WORDS, wordMs: 2, end: { afterWords: 200, how: 'cut' } },
    wish: { stream: true },
  }),
  {
    id: 'silent-backend',
    title: 'The backend falls silent after 200 tokens of a stream',
    needs: ['money'],
    isAlone: false,
    bound: `the gateway gives up before the backend does, after ${SILENCE_MS / 1000} s, and ${boundOf(CLOSE)}`,
    async run(stage) {
      const scene = stage.backend.scene({ words: WORDS, wordMs: 2, end: { afterWords: 200, how: 'freeze' } });
      const { holds, figure } = await chargedFor(stage, scene, { wish: { stream: true } });
      const hasGivenUp = scene.calls().some(({ wasGivenUp }) => wasGivenUp);
      return { holds: holds && hasGivenUp, figure: `${figure}${hasGivenUp ? '' : ', no end of its own'}` };
    },
  },
  {
    id: 'frozen',
    title: 'The gateway is stopped for 3 seconds in the middle of 10 streams (SIGSTOP), and goes on',
    bound: boundOf(CLOSE),
    needs: ['money', 'freeze'],
    isAlone: true,
    run: frozen,
  },
  {
    id: 'killed',
    title: `kill -9 with ${ANSWERED} answered and ${UNDER_WAY} under way, and a new start`,
    bound: 'what is spent is at least the invoice of the answered, and at most that of all, within 2 %',
    needs: ['money', 'kill'],
    isAlone: true,
    run: killed,
  },
];

interface Ending {
  readonly scene: Partial<Scene>;
  readonly wish: Omit<ChatWish, 'prompt'>;
  readonly thinks?: boolean;
  /** Beside the cue. */
  readonly inputWords?: number;
}

function ended({ id, title, ...ending }: Ending & { readonly id: string; readonly title: string }): Case {
  return {
    id,
    title,
    bound: boundOf(CLOSE),
    needs: ['money'],
    // How far a stream has come when its client leaves is a matter of time, which other cases would take.
    isAlone: ending.wish.leave !== undefined,
    run: (stage) => charged(stage, ending),
  };
}

function boundOf([least, most]: readonly [number, number]): string {
  return `the charge is ${least} to ${most} of the invoice`;
}

async function charged(stage: Stage, { scene, ...ending }: Ending): Promise<Measured> {
  return await chargedFor(stage, stage.backend.scene(scene), ending);
}

async function chargedFor(
  stage: Stage,
  scene: ReturnType<InvoiceBackend['scene']>,
  { wish, thinks = false, inputWords = 0 }: Omit<Ending, 'scene'>,
): Promise<Measured> {
  const account = await stage.account({ usd: 1 });
  await chat(stage.gateway, account, {
    prompt: `Tell of ${scene.cue} ${text(inputWords)}`,
    ...wish,
    begun: until(() => scene.calls().length > 0, OVER_MS),
    ...(thinks ? { more: { model: stage.gateway.thinkingModel } } : {}),
  });
  await until(() => scene.calls().every(({ isOver }) => isOver), OVER_MS);
  await stage.settled();
  const spent = await account.spentUsd();
  const billed = scene.billedUsd();
  // A backend that was never called had nothing to bill, which proves nothing.
  return { holds: scene.calls().length > 0 && isWithin(spent, billed, CLOSE), figure: share(spent, billed) };
}

async function frozen(stage: Stage): Promise<Measured> {
  const account = await stage.account({ usd: 1 });
  const scene = stage.backend.scene({ words: 200, wordMs: 10 });
  const streams = Array.from({ length: 10 }, () =>
    chat(stage.gateway, account, { prompt: `Tell of ${scene.cue}`, stream: true }),
  );
  await until(() => scene.calls().length === 10, OVER_MS);
  await pause(500);
  await stage.gateway.freeze?.(3_000);
  const whole = (await Promise.all(streams)).filter(({ isWhole }) => isWhole).length;
  await stage.settled();
  const spent = await account.spentUsd();
  const billed = scene.billedUsd();
  return { holds: isWithin(spent, billed, CLOSE), figure: `${share(spent, billed)}, ${whole} of 10 whole` };
}

async function killed(stage: Stage): Promise<Measured> {
  const { gateway, backend } = stage;
  const account = await stage.account({ usd: 5 });
  const answered = backend.scene({ words: 200 });
  const running = backend.scene({ words: 2_000, wordMs: 400 });
  const ask = (cue: string, stream: boolean) =>
    chat(gateway, account, { prompt: `Tell of ${cue}`, stream, maxTokens: stream ? 2_000 : 200 });
  const streams = Array.from({ length: UNDER_WAY }, () => ask(running.cue, true));
  await until(
    () => running.calls().filter(({ work }) => work.outputTokens > 5).length === UNDER_WAY,
    OVER_MS,
  );
  // Killed with the last answer: what a gateway keeps in memory for a while is there, however slow the machine is.
  const first = await Promise.all(Array.from({ length: ANSWERED }, () => ask(answered.cue, false)));
  await gateway.restartKilled?.();
  await Promise.all(streams);
  const least = answered.billedUsd();
  const most = least + running.billedUsd();
  const isRight = (spent: number): boolean => spent >= least * 0.98 && spent <= most * 1.02;
  const deadline = Date.now() + gateway.recoverMs;
  let spent = await account.spentUsd();
  while (!isRight(spent) && Date.now() < deadline) {
    await pause(500);
    spent = await account.spentUsd();
  }
  return {
    holds: isRight(spent) && first.every(isAnswered),
    figure: `${usd(spent)} spent, ${usd(least)} to ${usd(most)} billed`,
  };
}
