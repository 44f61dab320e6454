import { useEffect, useState } from 'react';
import type { Usd } from '../../../../src/console/contract.ts';
import type { ModelItem } from '../../../lib/answers.ts';
import { ApiError, call, type Wallet } from '../../../lib/api.ts';
import { useWallet } from '../../../lib/wallet.ts';
import type { ImageBody } from './order.ts';

/** The most that a request can cost. */
export type ImageQuote =
  | { readonly kind: 'known'; readonly maxCostUsd: Usd }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'failed' }
  | { readonly kind: 'waiting' };

/** Long enough not to ask at every step of a control. */
const PAUSE_MS = 250;
const MOST_KNOWN = 100;
/** Prices may change, so a quote is kept only this long. */
const KNOWN_MS = 60_000;
const WAITING: ImageQuote = { kind: 'waiting' };
const NO_PICTURE = 'data:image/png;base64,AA==';

/** Going back to an earlier choice does not ask again. */
const answers = new Map<string, { readonly quote: ImageQuote; readonly at: number }>();

interface Quoted {
  readonly model: ModelItem;
  readonly body: ImageBody;
  readonly references: number;
  readonly hasMask: boolean;
}

/** The most that each of the requests can cost, in their order; fetched once per text, when the controls rest. */
export function useImageQuotes(wanted: readonly Quoted[]): readonly ImageQuote[] {
  const [, setAnswered] = useState(0);
  const { wallet } = useWallet();
  const texts = wanted.map(quotedText);
  const missing = texts.filter((text) => answered(wallet, text) === undefined);
  const list = JSON.stringify(missing);
  useEffect(() => {
    const asked = JSON.parse(list) as string[];
    if (asked.length === 0) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      for (const text of asked)
        void ask(wallet, text, abort.signal).then(() => setAnswered((count) => count + 1));
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [list, wallet]);
  return texts.map((text) => answered(wallet, text) ?? WAITING);
}

async function ask(wallet: Wallet, text: string, signal: AbortSignal): Promise<void> {
  try {
    // The text was made by `quotedText`.
    const body = JSON.parse(text) as ImageBody;
    const { maxCostUsd } = await call('POST /api/console/playground/quote', {
      query: { wallet },
      body,
      signal,
    });
    remember(wallet + text, { kind: 'known', maxCostUsd });
  } catch (failure) {
    if (signal.aborted) return;
    const isRefusal = failure instanceof ApiError && failure.status >= 400 && failure.status < 500;
    remember(wallet + text, isRefusal ? { kind: 'refused', message: failure.message } : { kind: 'failed' });
  }
}

function answered(wallet: Wallet, text: string): ImageQuote | undefined {
  const answer = answers.get(wallet + text);
  return answer && Date.now() - answer.at < KNOWN_MS ? answer.quote : undefined;
}

function remember(asked: string, quote: ImageQuote): void {
  if (answers.size >= MOST_KNOWN) answers.clear();
  answers.set(asked, { quote, at: Date.now() });
}

/** Only the number of pictures counts, and the prompt does not where each image has a price. */
function quotedText({ model, body, references, hasMask }: Quoted): string {
  const prompt = model.price.kind === 'images' || body.prompt.trim() === '' ? '-' : body.prompt;
  const pictures = Array.from({ length: references }, () => NO_PICTURE);
  return JSON.stringify({
    ...body,
    prompt,
    // Previews are only counted in a stream.
    ...(body['partial_images'] === undefined ? {} : { stream: true }),
    ...(pictures.length === 0 ? {} : { image: pictures, ...(hasMask ? { mask: NO_PICTURE } : {}) }),
  });
}
