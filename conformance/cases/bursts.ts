import { pause, usd, type Case, type Stage } from '../case.ts';
import { chat, image, type Seen } from '../client.ts';
import { PRICES } from '../backend/invoice.ts';

const BURST = 200;
const BURST_WORDS = 1_000;
const BURST_BALANCE_USD = 0.105;
const IMAGES = 30;
const IMAGES_BALANCE_USD = 0.1;
const UNCAPPED = 50;
const TAKEN_USD = 0.05;
/** A gateway that refuses what could be paid is no safer for it. */
const FEWEST_SERVED = 5;

export const BURSTS: readonly Case[] = [
  {
    id: 'burst-chat',
    title: `${BURST} chats at once of $0.01 each on a balance of $${BURST_BALANCE_USD}`,
    bound: `the backend bills at most the balance, and at least ${FEWEST_SERVED} are answered`,
    needs: ['money'],
    isAlone: true,
    run: (stage) => burst(stage, { count: BURST, maxTokens: BURST_WORDS }),
  },
  {
    id: 'burst-two-nodes',
    title: 'The same over two nodes in turn',
    bound: `the backend bills at most the balance, and at least ${FEWEST_SERVED} are answered`,
    needs: ['money', 'two nodes'],
    isAlone: true,
    run: (stage) => burst(stage, { count: BURST, maxTokens: BURST_WORDS, nodes: 2 }),
  },
  {
    id: 'burst-no-cap',
    title: `${UNCAPPED} chats at once that name no limit of their own, on the same balance`,
    bound: 'the backend bills at most the balance, and at least 1 is answered',
    needs: ['money'],
    isAlone: true,
    run: (stage) => burst(stage, { count: UNCAPPED, fewest: 1 }),
  },
  {
    id: 'burst-images',
    title: `${IMAGES} images at once of $${PRICES.imageUsd} each on a balance of $${IMAGES_BALANCE_USD}`,
    bound: 'the backend makes at most 2, and at least 1',
    needs: ['money', 'images'],
    isAlone: true,
    async run(stage) {
      const account = await stage.account({ usd: IMAGES_BALANCE_USD });
      const scene = stage.backend.scene({ delayMs: 300 });
      await Promise.all(
        Array.from({ length: IMAGES }, () =>
          image(stage.gateway, account, { prompt: `A drawing of ${scene.cue}` }),
        ),
      );
      const made = scene.calls().reduce((sum, { work }) => sum + work.images, 0);
      return { holds: made >= 1 && made <= IMAGES_BALANCE_USD / PRICES.imageUsd, figure: `${made} made` };
    },
  },
  {
    id: 'taken-back',
    title: `$${TAKEN_USD} of $${BURST_BALANCE_USD} are taken back while 5 streams of up to $0.01 run; then 30 more at once`,
    bound: `the backend bills at most the $${(BURST_BALANCE_USD - TAKEN_USD).toFixed(3)} that were left`,
    needs: ['money', 'taking back'],
    isAlone: true,
    run: takenBack,
  },
];

interface Burst {
  readonly count: number;
  readonly maxTokens?: number;
  readonly nodes?: number;
  readonly fewest?: number;
}

async function burst(stage: Stage, { count, maxTokens, nodes = 1, fewest = FEWEST_SERVED }: Burst) {
  const { gateway, backend } = stage;
  const account = await stage.account({ usd: BURST_BALANCE_USD });
  const scene = backend.scene({ words: BURST_WORDS, delayMs: 300 });
  const seen = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      chat(gateway, account, {
        prompt: `Write about ${scene.cue}`,
        node: index % nodes,
        ...(maxTokens === undefined ? {} : { maxTokens }),
      }),
    ),
  );
  const served = seen.filter(isAnswered).length;
  const billed = scene.billedUsd();
  return {
    holds: billed <= BURST_BALANCE_USD && served >= fewest,
    figure: `${served} answered, ${usd(billed)} billed`,
  };
}

async function takenBack(stage: Stage) {
  const { gateway, backend } = stage;
  const account = await stage.account({ usd: BURST_BALANCE_USD });
  const scene = backend.scene({ words: BURST_WORDS, wordMs: 1 });
  const ask = (): Promise<Seen> =>
    chat(gateway, account, { prompt: `Write about ${scene.cue}`, maxTokens: BURST_WORDS, stream: true });
  const first = Array.from({ length: 5 }, ask);
  await pause(500);
  await account.takeBack?.(TAKEN_USD);
  await Promise.all(first);
  await stage.settled();
  await Promise.all(Array.from({ length: 30 }, ask));
  const billed = scene.billedUsd();
  return { holds: billed <= BURST_BALANCE_USD - TAKEN_USD && billed > 0, figure: `${usd(billed)} billed` };
}

export function isAnswered({ status }: Seen): boolean {
  return status === 200;
}
