import type { Client, MakeClient, ReportedError, Target } from './client.ts';
import { RecordingProxy } from './recording-proxy.ts';

export type CallMode = 'ask' | 'stream';

export interface Outcome {
  readonly error: ReportedError | undefined;
  readonly text: string | undefined;
  /** The status of every response through the proxy, in order. */
  readonly statuses: readonly number[];
  readonly requestIds: readonly (string | null)[];
}

export interface ProxiedCall {
  readonly target: Target;
  readonly how: CallMode;
  readonly prompt: string;
}

/** One call through a recording proxy: what the program got, and what was sent. */
export async function proxiedCall(
  make: MakeClient,
  { target, how, prompt }: ProxiedCall,
  onProxy?: (proxy: RecordingProxy) => void,
): Promise<Outcome> {
  const proxy = new RecordingProxy(target.url);
  onProxy?.(proxy);
  try {
    const result = await attempt(make({ ...target, url: proxy.url }), how, prompt);
    return {
      ...result,
      statuses: proxy.statuses,
      requestIds: proxy.exchanges.map(({ requestId }) => requestId),
    };
  } finally {
    await proxy.stop();
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
