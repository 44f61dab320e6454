import type { PlaygroundCall, PlaygroundRelay } from '../console/playground-relay.ts';
import type { RelayParts } from '../relay/call.ts';
import { answerChat, publicChatCall } from './chat-completions.ts';
import type { ImageLinks } from './image-links.ts';
import { answerImages, publicImageCall } from './images.ts';
import type { CallBase } from './inference.ts';

/** The playground's way to the relay: the public API's calls, on a session's account. */
export function makePlayground(parts: RelayParts, links: ImageLinks): PlaygroundRelay {
  return {
    chat: async (asked) => await answerChat(publicChatCall(baseOf(asked), asked.body), parts),
    images: async (asked) =>
      await answerImages(publicImageCall(baseOf(asked), asked.body), asked.origin, parts, links),
  };
}

function baseOf({ accountId, requestId, client, signal, size }: PlaygroundCall): CallBase {
  return { requestId, caller: { kind: 'account', id: accountId }, client, signal, size };
}
