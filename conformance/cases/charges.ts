import { text } from '../backend/words.ts';
import { PRICES } from '../backend/invoice.ts';
import type { Scene } from '../backend/scene.ts';
import { isWithin, share, usd, type Case, type Measured, type Stage } from '../case.ts';
import { chat, image, type ChatWish } from '../client.ts';

const EXACT: readonly [number, number] = [0.99, 1.01];
const COUNTED: readonly [number, number] = [0.85, 1.15];
const CAP = 300;
const LONG_WORDS = 2_000;
const CACHED = 1_500;
const INPUT_WORDS = 100;

/** What a report says is charged, and what no honest report says is not believed. */
export const CHARGES: readonly Case[] = [
  priced({
    id: 'cached',
    title: `${CACHED} of ${LONG_WORDS} input tokens from the cache at a tenth of the price`,
    inputWords: LONG_WORDS,
    scene: { cachedTokens: CACHED },
  }),
  priced({
    id: 'reasoning',
    title: '400 tokens of hidden reasoning before 50 of text',
    scene: { words: 50, reasoningTokens: 400 },
    wish: { maxTokens: 1_000 },
  }),
  priced({
    id: 'tool-call',
    title: 'A streamed tool call',
    scene: { words: 150, toolCall: true },
    wish: { stream: true, more: { tools: tools() } },
  }),
  priced({
    id: 'service-tier',
    title: 'A service tier that costs twice as much',
    wish: { more: { service_tier: 'priority' } },
  }),
  priced({ id: 'choices', title: 'Three choices of one request', wish: { more: { n: 3 } } }),
  {
    id: 'images',
    title: `Two images of $${PRICES.imageUsd} in one request`,
    bound: boundOf(EXACT),
    needs: ['money', 'images'],
    isAlone: false,
    run: (stage) => painted(stage, { n: 2, missing: 0 }),
  },
  {
    id: 'images-missing',
    title: 'Four images asked for, three made and billed',
    bound: boundOf(EXACT),
    needs: ['money', 'images'],
    isAlone: false,
    run: (stage) => painted(stage, { n: 4, missing: 1 }),
  },
  priced({
    id: 'no-usage-whole',
    title: 'A whole answer without a usage report',
    scene: { words: 200, usage: 'missing' },
    bound: COUNTED,
  }),
  priced({
    id: 'no-usage-stream',
    title: 'A stream without a usage report',
    scene: { words: 200, usage: 'missing' },
    wish: { stream: true },
    bound: COUNTED,
  }),
  priced({
    id: 'zero-usage',
    title: 'A report that says zero',
    scene: { words: 200, usage: 'zero' },
    bound: COUNTED,
  }),
  priced({
    id: 'negative-usage',
    title: 'A report with a negative number',
    scene: { words: 200, usage: 'negative' },
    bound: COUNTED,
  }),
  {
    id: 'huge-usage',
    title: `A report of a billion tokens for a request that may use ${CAP}`,
    bound: 'the charge is at most what the request could cost',
    needs: ['money'],
    isAlone: false,
    async run(stage) {
      const { spent } = await spentOn(stage, { scene: { usage: 'huge' } });
      const tokens = (INPUT_WORDS + 100) * PRICES.inputPerMillionUsd + CAP * PRICES.outputPerMillionUsd;
      // Twice: a bound of the input without a tokenizer may be generous.
      return { holds: spent > 0 && spent <= (2 * tokens) / 1_000_000, figure: `${usd(spent)} charged` };
    },
  },
];

interface Priced {
  readonly scene?: Partial<Scene>;
  readonly wish?: Omit<ChatWish, 'prompt'>;
  readonly inputWords?: number;
  readonly bound?: readonly [number, number];
}

function priced({ id, title, ...question }: Priced & { readonly id: string; readonly title: string }): Case {
  const bound = question.bound ?? EXACT;
  return {
    id,
    title,
    bound: boundOf(bound),
    needs: ['money'],
    isAlone: false,
    async run(stage) {
      const { spent, billed } = await spentOn(stage, question);
      return { holds: billed > 0 && isWithin(spent, billed, bound), figure: share(spent, billed) };
    },
  };
}

function boundOf([least, most]: readonly [number, number]): string {
  return `the charge is ${least} to ${most} of the invoice`;
}

async function spentOn(stage: Stage, { scene: wished = {}, wish = {}, inputWords = INPUT_WORDS }: Priced) {
  const account = await stage.account({ usd: 1 });
  const scene = stage.backend.scene(wished);
  const prompt = `Tell of ${scene.cue} ${text(inputWords)}`;
  await chat(stage.gateway, account, { prompt, maxTokens: CAP, ...wish });
  await stage.settled();
  return { spent: await account.spentUsd(), billed: scene.billedUsd() };
}

async function painted(
  stage: Stage,
  { n, missing }: { readonly n: number; readonly missing: number },
): Promise<Measured> {
  const account = await stage.account({ usd: 1 });
  const scene = stage.backend.scene({ missingImages: missing });
  await image(stage.gateway, account, { prompt: `A drawing of ${scene.cue}`, n });
  await stage.settled();
  const spent = await account.spentUsd();
  const billed = scene.billedUsd();
  return { holds: billed > 0 && isWithin(spent, billed, EXACT), figure: share(spent, billed) };
}

function tools() {
  const parameters = { type: 'object', properties: { text: { type: 'string' } } };
  return [{ type: 'function', function: { name: 'write', description: 'Writes it down', parameters } }];
}
