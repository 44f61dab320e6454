import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { ModelItem } from '../../lib/answers.ts';
import { refreshReads } from '../../lib/query.ts';
import { BALANCE_READS } from '../../lib/wallet.ts';
import { type Conversation, type ConversationState, makeConversation } from './conversation.ts';
import { chosenModel, recipeOf, useDraft, type Draft, type Recipe } from './recipe.ts';

/** One model with its parameters and its conversation. */
export interface Run {
  readonly model: ModelItem;
  readonly draft: Draft;
  readonly change: (next: Partial<Draft>) => void;
  readonly recipe: Recipe;
  readonly conversation: Conversation;
  readonly state: ConversationState;
}

/** `start` gives the columns of a comparison different models until the user chooses. */
export function useRun(name: string, models: readonly ModelItem[], start: number): Run | undefined {
  const [draft, change] = useDraft(name);
  const [conversation, state] = useConversation(name);
  const usable = models.filter((model) => !model.unavailable);
  const distinct = usable.filter(
    (model, index) => usable.findIndex((other) => other.model === model.model) === index,
  );
  const model = draft.choice
    ? chosenModel(models, draft.choice)
    : (distinct[start % Math.max(distinct.length, 1)] ?? usable[start % Math.max(usable.length, 1)]);
  if (!model) return undefined;
  return { model, draft, change, recipe: recipeOf(draft, model), conversation, state };
}

const conversations = new Map<string, Conversation>();

/** The conversation of that name; it continues while its page is closed, and ends with the tab. */
export function useConversation(name: string): [Conversation, ConversationState] {
  const client = useQueryClient();
  const conversation = conversationOf(name, client);
  return [conversation, useSyncExternalStore(conversation.subscribe, conversation.get)];
}

function conversationOf(name: string, client: QueryClient): Conversation {
  let conversation = conversations.get(name);
  if (!conversation) {
    conversation = makeConversation(() => void refreshReads(client, BALANCE_READS));
    conversations.set(name, conversation);
  }
  return conversation;
}
