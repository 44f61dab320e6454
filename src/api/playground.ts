import type { PlaygroundCall, PlaygroundRelay } from '../console/playground-relay.ts';
import type { RelayParts } from '../relay/call.ts';
import { relayImages } from '../relay/images.ts';
import { answerChat } from './chat-answer.ts';
import { answerImages, type ImageLinks } from './image-links.ts';
import { publicChatCall, publicImageCall, type CallBase } from './public-calls.ts';

/** The playground's way to the relay: the public API's calls, on a session's account. */
export function makePlayground(parts: RelayParts, links: ImageLinks): PlaygroundRelay {
  return {
    chat: async (asked) => await answerChat(publicChatCall(baseOf(asked), asked.body), parts),
    images: async (asked) => {
      const call = publicImageCall(baseOf(asked), asked.body);
      return await answerImages(await relayImages(call, parts), call, asked.origin, links);
    },
  };
}

function baseOf({ accountId, requestId, client, signal, size }: PlaygroundCall): CallBase {
  return { requestId, caller: { kind: 'account', id: accountId }, client, signal, size };
}
