import { useEffect, useRef, useState } from 'react';
import type { PlaygroundReceipt } from '../../../src/console/contract.ts';
import { ApiError } from '../../lib/api.ts';
import { streamChat } from '../../lib/chatStream.ts';

const MAX_TOKENS = 1_000;

export type FirstCallRun = ReturnType<typeof useFirstCall>;

interface FirstCall {
  readonly answer: string;
  readonly receipt: PlaygroundReceipt | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  /** As seen from here; the receipt knows better. */
  readonly firstTokenMs: number | undefined;
}

const NOTHING: FirstCall = {
  answer: '',
  receipt: undefined,
  error: undefined,
  busy: false,
  firstTokenMs: undefined,
};

/** One streamed call; starting again replaces it, and leaving the page aborts it. */
export function useFirstCall() {
  const [call, setCall] = useState(NOTHING);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (model: { endpoint: string; model: string }, question: string): Promise<void> => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const change = (changes: Partial<FirstCall>): void => setCall((before) => ({ ...before, ...changes }));
    const startedAt = performance.now();
    setCall({ ...NOTHING, busy: true });
    try {
      const body = {
        endpoint: model.endpoint,
        model: model.model,
        messages: [{ role: 'user' as const, content: question }],
        max_tokens: MAX_TOKENS,
      };
      for await (const part of streamChat({ body, signal })) {
        if (part.kind === 'text')
          setCall((before) => ({
            ...before,
            answer: before.answer + part.text,
            firstTokenMs: before.firstTokenMs ?? performance.now() - startedAt,
          }));
        else if (part.kind === 'receipt') change({ receipt: part.receipt });
        else if (part.kind === 'failed') change({ error: new ApiError(500, 'upstream_error', part.message) });
      }
    } catch (failure) {
      if (!signal.aborted)
        change({
          error: failure instanceof ApiError ? failure : new ApiError(0, 'network', String(failure)),
        });
    } finally {
      change({ busy: false });
    }
  };
  return { ...call, run };
}
