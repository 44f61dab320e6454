import { useEffect, useSyncExternalStore } from 'react';
import { randomKey } from '../../lib/browser.ts';
import { useUser } from '../../lib/session.ts';
import { makeStore } from '../../lib/store.ts';
import type { Conversation, ConversationState } from './conversation.ts';
import { keptTurn, readChats, titleOf, withinBounds, writeChats, type KeptChat } from './keptChats.ts';
import type { Draft } from './recipe.ts';
import { EMPTY_FORM, type AnswerForm } from './structured/answerForm.ts';

interface Kept {
  readonly account: string | undefined;
  readonly chats: readonly KeptChat[];
  /** The id of the chat on the screen; undefined if it is not kept yet. */
  readonly current: string | undefined;
}

const store = makeStore<Kept>({ account: undefined, chats: [], current: undefined });

export interface KeptChats {
  readonly chats: readonly KeptChat[];
  readonly current: string | undefined;
  readonly open: (chat: KeptChat) => void;
  /** Adds a chat from elsewhere, under an id of its own. */
  readonly add: (chat: KeptChat) => void;
  readonly rename: (id: string, title: string) => void;
  readonly remove: (id: string) => void;
  readonly removeAll: () => void;
  /** Begins a new chat; the current one stays in the list. */
  readonly begin: () => void;
}

interface ShownChat {
  readonly conversation: Conversation;
  readonly state: ConversationState;
  readonly draft: Draft;
  readonly change: (next: Partial<Draft>) => void;
}

/** The chats that this browser keeps; the one on the screen is saved whenever an answer ends. */
export function useKeptChats({ conversation, state, draft, change }: ShownChat): KeptChats {
  const { accountId } = useUser();
  const { chats, current, account } = useSyncExternalStore(store.subscribe, store.get);
  useEffect(() => {
    if (account !== accountId) store.change({ account: accountId, chats: readChats(accountId) });
  }, [account, accountId]);
  const { turns, busy } = state;
  const { choice, system, answerAs, schema, tools } = draft;
  useEffect(() => {
    if (account === accountId && !busy && turns.length > 0)
      keep({ choice, system, form: { answerAs, schema, tools }, turns });
  }, [account, accountId, busy, turns, choice, system, answerAs, schema, tools]);
  const open = (chat: KeptChat): void => {
    store.change({ current: chat.id });
    change({ choice: chat.choice, system: chat.system, ...EMPTY_FORM, ...chat.form });
    conversation.load(chat.turns);
  };
  const remove = (id: string): void => {
    save(latest().filter((chat) => chat.id !== id));
    if (id === store.get().current) begin(conversation);
  };
  return {
    chats,
    current,
    open,
    add: (chat) => {
      const added = { ...chat, id: randomKey(), at: Date.now() };
      save([added, ...latest()]);
      open(added);
    },
    rename: (id, title) => save(latest().map((chat) => (chat.id === id ? { ...chat, title } : chat))),
    remove,
    removeAll: () => {
      save([]);
      begin(conversation);
    },
    begin: () => begin(conversation),
  };
}

function begin(conversation: Conversation): void {
  store.change({ current: undefined });
  conversation.clear();
}

interface ChatOnScreen extends Pick<Draft, 'choice' | 'system'>, Pick<ConversationState, 'turns'> {
  readonly form: AnswerForm;
}

function keep({ choice, system, form: typed, turns }: ChatOnScreen): void {
  const { current } = store.get();
  const chats = latest();
  const before = chats.find(({ id }) => id === current);
  const now = turns.map(keptTurn);
  const form = isSame(typed, EMPTY_FORM) ? {} : { form: typed };
  const said = { choice, system, ...form, turns: now };
  if (before && isSame(before, { id: before.id, title: before.title, at: before.at, ...said })) return;
  const id = current ?? randomKey();
  const chat = { id, title: before?.title ?? titleOf(turns), at: Date.now(), ...said };
  store.change({ current: id });
  save([chat, ...chats.filter((one) => one.id !== id)]);
}

/** Texts can be compared because both were built with the same order of fields. */
function isSame(before: unknown, now: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(now);
}

/** Another tab may have saved chats in the meantime. Without storage, only this tab's chats are known. */
function latest(): readonly KeptChat[] {
  const { account, chats } = store.get();
  const stored = account === undefined ? [] : readChats(account);
  return stored.length > 0 ? stored : chats;
}

function save(chats: readonly KeptChat[]): void {
  const { account } = store.get();
  const bounded = withinBounds(chats);
  store.change({ chats: bounded });
  if (account !== undefined) writeChats(account, bounded);
}
