import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { countPieces, type Vocabulary } from './count-pieces.ts';
import type { CountedText, TokenEncoding } from './port.ts';

/** One turn's work. The worker answers in the order of its orders. */
export interface CountOrder {
  readonly encoding: TokenEncoding;
  readonly texts: readonly string[];
}

export type CountAnswer = CountedSlice | { readonly failure: string };

interface CountedSlice extends CountedText {
  /**
   * What it took of a processor. On a busy machine most of the time until the answer is waiting for one, which is the same
   * for every slice, however much work it is.
   */
  readonly cpuMs: number;
}

/** As `nice` counts: the thread still gets a third of a processor that another one wants as well. */
const LOWER_PRIORITY = 5;
const LOWEST_PRIORITY = 19;

yieldToOthers();

const vocabularies = new Map<TokenEncoding, Promise<Vocabulary>>();

parentPort?.on('message', (order: CountOrder) => {
  void answer(order).then((result) => parentPort?.postMessage(result, []));
});

async function answer({ encoding, texts }: CountOrder): Promise<CountAnswer> {
  try {
    const vocabulary = await vocabularyOf(encoding);
    const before = process.threadCpuUsage();
    const sum = { tokens: 0, cuts: 0 };
    for (const text of texts) {
      const { tokens, cuts } = countPieces(text, vocabulary);
      sum.tokens += tokens;
      sum.cuts += cuts;
    }
    const { user, system } = process.threadCpuUsage(before);
    return { ...sum, cpuMs: (user + system) / 1_000 };
  } catch (thrown) {
    return { failure: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function vocabularyOf(encoding: TokenEncoding): Promise<Vocabulary> {
  const known = vocabularies.get(encoding);
  if (known) return known;
  const loading = load(encoding);
  vocabularies.set(encoding, loading);
  return loading;
}

async function load(encoding: TokenEncoding): Promise<Vocabulary> {
  const { countTokens, setMergeCacheSize } = await moduleOf(encoding);
  // Its cache would keep a hundred thousand pieces of customers' texts.
  setMergeCacheSize(0);
  // Names of control tokens in a customer's text are text.
  const special = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, special);
}

/** Each encoding is loaded on first use: they take 65 to 145 MB. */
function moduleOf(encoding: TokenEncoding) {
  switch (encoding) {
    case 'o200k_base':
      return import('gpt-tokenizer/encoding/o200k_base');
    case 'o200k_harmony':
      return import('gpt-tokenizer/encoding/o200k_harmony');
    case 'cl100k_base':
      return import('gpt-tokenizer/encoding/cl100k_base');
    case 'p50k_base':
      return import('gpt-tokenizer/encoding/p50k_base');
    case 'r50k_base':
      return import('gpt-tokenizer/encoding/r50k_base');
  }
}

/**
 * A long text keeps this thread busy for seconds. Where there are not enough processors, everybody's requests, which the
 * main thread serves, must not wait for it. Only Linux has priorities of single threads.
 */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    // The server itself may have been started with `nice`.
    setPriority(thread, Math.min(getPriority(process.pid) + LOWER_PRIORITY, LOWEST_PRIORITY));
  } catch {
    // Without /proc the thread has the usual priority, and everything else works.
  }
}
