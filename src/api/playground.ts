import type { RefusedCalls } from '../activity/refused-calls.ts';
import type { PlaygroundCall, PlaygroundRelay, QuotedCall } from '../console/playground-relay.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { connectionOf, type Call, type ImageCall, type RelayParts, type CallBase } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import { answerChat, publicChatCall } from './chat-completions.ts';
import { findPictures, takePictures } from './edit-body.ts';
import type { ImageJobs } from './image-jobs.ts';
import type { ImageLinks } from './image-links.ts';
import { answerImages, publicImageCall } from './images.ts';
import { quoteBody, quoteView } from './quotes.ts';
import { notePlaygroundRefusal } from './refusals.ts';

interface PlaygroundServices {
  readonly links: ImageLinks;
  readonly imageJobs: Pick<ImageJobs, 'plain' | 'start'>;
  readonly refusedCalls: Pick<RefusedCalls, 'add'>;
}

/** The playground's access to the relay: the public API's calls, on the account of a session. */
export function makePlayground(
  parts: RelayParts,
  { links: publicLinks, imageJobs, refusedCalls }: PlaygroundServices,
): PlaygroundRelay {
  const links = publicLinks.onOwnAddress();
  const noted = async <Result>(asked: PlaygroundCall, work: () => Promise<Result>): Promise<Result> => {
    const { endpoint, model } = asked.body;
    try {
      return await work();
    } catch (thrown) {
      notePlaygroundRefusal(refusedCalls, { asked, endpoint, model, thrown });
      throw thrown;
    }
  };
  return {
    chat: (asked) =>
      noted(asked, () =>
        answerChat({ ...publicChatCall(baseOf(asked), asked.body), onClosed: closedTo(asked) }, parts),
      ),
    images: (asked) =>
      noted(asked, async () => {
        const call = { ...(await imageCallOf(asked, links)), onClosed: closedTo(asked) };
        return await answerImages(call, asked.origin, {
          relay: parts,
          imageJobs,
          links,
          memory: asked.memory,
        });
      }),
    startImageJob: (asked) =>
      noted(asked, async () => {
        const call = await imageCallOf(asked, links);
        await imageJobs.start(call, call.requestRecord, asked.memory);
      }),
    quote: async (asked) => {
      const quote = quoteView(await quoteBody(baseOf(asked), { ...asked.body }, parts));
      return { maxCostUsd: quote.max_cost_usd, maxTokens: quote.max_tokens };
    },
  };
}

async function imageCallOf(asked: PlaygroundCall, links: ImageLinks): Promise<ImageCall> {
  const { accountId, origin, memory } = asked;
  const { pictures, mask, value } = takePictures(asked.body);
  const call = publicImageCall(baseOf(asked), value);
  if (pictures.length === 0 && !mask) return call;
  if (pictures.length === 0) throw new Fault('missing_field', 'image is required.', { param: 'image' });
  const owner = { links, origin, accountId: () => Promise.resolve(accountId), memory };
  return { ...call, request: { ...call.request, ...(await findPictures({ pictures, mask }, owner)) } };
}

function closedTo(asked: PlaygroundCall): NonNullable<Call<unknown>['onClosed']> {
  return (end, settled) => {
    const usage = end.kind === 'settle' ? end.settlement.usage : NO_USAGE;
    const { outcome, firstByteMs, durationMs } = end.kind === 'settle' ? end.settlement : end.ending;
    asked.onClosed({ outcome, usage, settled, firstByteMs, durationMs });
  };
}

function baseOf({ accountId, requestId, requestRecord, client, signal, size }: QuotedCall): CallBase {
  const caller = { kind: 'account', id: accountId } as const;
  return { requestId, caller, client, connection: connectionOf(signal), size, requestRecord };
}
