import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { refreshReads } from '../../lib/query.ts';
import { makeConversation, type Conversation, type ConversationState } from './conversation.ts';

const conversations = new Map<string, Conversation>();

/** The conversation of that name; it goes on while its page is away, and is gone with the tab. */
export function useConversation(name: string): [Conversation, ConversationState] {
  const client = useQueryClient();
  const conversation = conversationOf(name, client);
  return [conversation, useSyncExternalStore(conversation.subscribe, conversation.get)];
}

function conversationOf(name: string, client: QueryClient): Conversation {
  let conversation = conversations.get(name);
  if (!conversation) {
    conversation = makeConversation(() => void refreshReads(client, ['GET /api/console/overview']));
    conversations.set(name, conversation);
  }
  return conversation;
}
