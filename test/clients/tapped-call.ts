import type { Client, MakeClient, ReportedError, Target } from './client.ts';
import { Wiretap } from './wiretap.ts';

export type CallMode = 'ask' | 'stream';

export interface Outcome {
  readonly error: ReportedError | undefined;
  readonly text: string | undefined;
  /** Of every response that passed the proxy, in order. */
  readonly statuses: readonly number[];
  readonly requestIds: readonly (string | null)[];
}

export interface TappedCall {
  readonly target: Target;
  readonly how: CallMode;
  readonly prompt: string;
}

/** One call through a recording proxy: what the program got, and what was sent for it. */
export async function tappedCall(
  make: MakeClient,
  { target, how, prompt }: TappedCall,
  onTap?: (tap: Wiretap) => void,
): Promise<Outcome> {
  const tap = new Wiretap(target.url);
  onTap?.(tap);
  try {
    const result = await attempt(make({ ...target, url: tap.url }), how, prompt);
    return { ...result, statuses: tap.statuses, requestIds: tap.exchanges.map(({ requestId }) => requestId) };
  } finally {
    await tap.stop();
  }
}

async function attempt(
  client: Client,
  how: CallMode,
  prompt: string,
): Promise<Pick<Outcome, 'error' | 'text'>> {
  try {
    return { text: (await client[how]({ prompt })).text, error: undefined };
  } catch (thrown) {
    return { error: client.surface(thrown), text: undefined };
  }
}
