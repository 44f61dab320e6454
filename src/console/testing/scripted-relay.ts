import type { Ledger } from '../../ledger/port.ts';
import { NO_USAGE, type Price, type Usage } from '../../ledger/price.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import { nanoUsd } from '../../std/money.ts';
import type { PlaygroundCall, PlaygroundRelay } from '../playground-relay.ts';

/** A relay that admits and settles in the real books and says "hello" in between. */
export function scriptedRelay(ledger: Ledger, clock: Clock, chatPrice: Price): PlaygroundRelay {
  const admit = async (call: PlaygroundCall, price: Price, images: number): Promise<void> => {
    const admission = await ledger.admit({
      requestId: call.requestId,
      caller: { kind: 'account', id: call.accountId },
      rate: images > 0 ? 'images' : 'chat',
      endpoint: String(call.body['endpoint']),
      model: String(call.body['model']),
      price,
      ceiling:
        images > 0 ? { kind: 'images', images } : { kind: 'tokens', input: 100, output: 300, choices: 1 },
      stream: images === 0,
      client: call.client,
      limits: { chatPerMinute: 1_000, imagesPerMinute: 1_000, concurrent: 50 },
    });
    if (admission.kind !== 'admitted') throw new Error(admission.reason);
  };
  const settle = async (call: PlaygroundCall, used: Partial<Usage>) => {
    const usage = { ...NO_USAGE, ...used };
    const ending = { outcome: 'completed', durationMs: 20, firstByteMs: 4 } as const;
    const more = { source: 'upstream', attempts: [], upstream: 'house' } as const;
    const settled = await ledger.settle(call.requestId, { ...ending, ...more, usage });
    call.onClosed({ ...ending, usage, settled });
  };
  return {
    quote: () => Promise.resolve({ maxCostUsd: '0.01', maxTokens: 300 }),
    async chat(call) {
      await admit(call, chatPrice, 0);
      const body = new ReadableStream({
        async start(controller) {
          const chunk = {
            id: call.requestId,
            choices: [{ index: 0, delta: { content: 'hello' } }],
            at: clock.now(),
          };
          await settle(call, { input: 10, output: 5 });
          controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`));
          controller.close();
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
    async images(call) {
      await admit(call, { kind: 'images', image: nanoUsd(10_000_000) }, 1);
      await settle(call, { images: 1 });
      return Response.json({ created: 1, data: [{ url: `${call.origin}/x.png` }] });
    },
    startImageJob: () => Promise.reject(new Fault('unsupported_model', 'There are no jobs here.')),
  };
}
