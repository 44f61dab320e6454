import type { Client, MakeClient, Surfaced, Target } from './client.ts';
import { Wiretap } from './wiretap.ts';

export type How = 'ask' | 'stream';

export interface Outcome {
  readonly error: Surfaced | undefined;
  readonly text: string | undefined;
  /** Of every answer that went over the wire, in order. */
  readonly statuses: readonly number[];
  readonly requestIds: readonly (string | null)[];
}

export interface TappedCall {
  readonly target: Target;
  readonly how: How;
  readonly prompt: string;
}

/** One call through a wiretap: what the program got, and what went over the wire for it. */
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

async function attempt(client: Client, how: How, prompt: string): Promise<Pick<Outcome, 'error' | 'text'>> {
  try {
    return { text: (await client[how]({ prompt })).text, error: undefined };
  } catch (thrown) {
    return { error: client.surface(thrown), text: undefined };
  }
}
