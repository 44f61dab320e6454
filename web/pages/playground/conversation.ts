import type { PlaygroundChatBody, PlaygroundMessage, PlaygroundReceipt } from '../../lib/answers.ts';
import { ApiError } from '../../lib/api.ts';
import { settledReceipt, streamChat, type ChatPart } from '../../lib/chatStream.ts';
import { currentWallet } from '../../lib/wallet.ts';
import { makeStore } from '../../lib/store.ts';
import { fileText, NOTHING_ATTACHED, type Attached, type AttachedFile } from './attachments.ts';
import { answerError, type AnswerError } from './refusal.ts';
import type { Recipe } from './recipe.ts';
import { formatOf, type AnswerFormat } from './structured/answerForm.ts';
import { callMessages, isAnswered, withCallPart, type ToolCall } from './structured/toolCalls.ts';

type PlaygroundPart = Extract<PlaygroundMessage['content'], readonly unknown[]>[number];

export interface Turn {
  readonly id: number;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** `data:` URLs; only the user's turns have them. */
  readonly images: readonly string[];
  readonly files?: readonly AttachedFile[];
  readonly reasoning: string;
  readonly status: 'streaming' | 'done' | 'stopped' | 'failed';
  readonly model: string;
  readonly error?: AnswerError;
  readonly finish?: string;
  /** The format that was asked for, if it is not text. */
  readonly format?: AnswerFormat;
  readonly toolCalls?: readonly ToolCall[];
  readonly receipt?: PlaygroundReceipt;
  /** Nothing was held for it, so there is no receipt. */
  readonly isRefused?: boolean;
}

export interface ConversationState {
  readonly turns: readonly Turn[];
  readonly busy: boolean;
}

/** A turn as it is stored, without its id and pictures. */
type KeptTurn = Omit<Turn, 'id' | 'images'>;

export type Conversation = ReturnType<typeof makeConversation>;

let nextId = 1;

/** One chat with one model: kept outside of React, so that it survives a visit to another page. */
export function makeConversation(onSettled: () => void) {
  const store = makeStore<ConversationState>({ turns: [], busy: false });
  const turns = (): readonly Turn[] => store.get().turns;
  const patch = (id: number, update: (turn: Turn) => Turn, soon = false): void =>
    store.change({ turns: turns().map((turn) => (turn.id === id ? update(turn) : turn)) }, soon);
  let abort: AbortController | undefined;

  const answer = async (recipe: Recipe): Promise<void> => {
    abort = new AbortController();
    const { signal } = abort;
    const turn = answerTurn(recipe);
    const body = bodyOf(recipe, turns());
    let requestId: string | undefined;
    store.change({ turns: [...turns(), turn], busy: true });
    try {
      for await (const part of streamChat({
        body,
        signal,
        wallet: currentWallet(),
        onRequestId: (id) => (requestId = id),
      })) {
        patch(turn.id, (before) => withPart(before, part), SHOWN_SOON.has(part.kind));
      }
      patch(turn.id, (before) => ({ ...before, status: before.error ? 'failed' : 'done' }));
    } catch (failure) {
      requestId ??= requestIdOf(failure);
      patch(turn.id, (before) => ended(before, failure, signal.aborted));
    }
    store.change({ busy: false });
    const hasReceipt = turns().find(({ id }) => id === turn.id)?.receipt !== undefined;
    if (requestId && !hasReceipt) {
      const receipt = await settledReceipt(requestId);
      patch(turn.id, (before) => (receipt ? { ...before, receipt } : { ...before, isRefused: true }));
    }
    onSettled();
  };
  /** Keeps these turns and requests an answer to the last one. */
  const ask = (recipe: Recipe, kept: readonly Turn[]): void => {
    if (store.get().busy) return;
    store.change({ turns: kept });
    void answer(recipe);
  };

  return {
    get: store.get,
    subscribe: store.subscribe,
    send: (recipe: Recipe, text: string, attached = NOTHING_ATTACHED): void =>
      ask(recipe, [...turns(), { ...newTurn('user', ''), text, ...attached }]),
    /** Answers the last question, or the last results, again; what came after is dropped. */
    regenerate: (recipe: Recipe): void => ask(recipe, askedTurns(turns())),
    /** The results of the tools that an answer called, in the order of the calls. */
    answerCalls: (recipe: Recipe, id: number, results: readonly string[]): void =>
      ask(recipe, withResults(turns(), id, results)),
    edit: (recipe: Recipe, id: number, text: string): void => {
      const index = turns().findIndex((turn) => turn.id === id);
      const before = turns()[index];
      if (before) ask(recipe, [...turns().slice(0, index), { ...before, text }]);
    },
    load: (kept: readonly KeptTurn[]): void => {
      abort?.abort();
      const loaded = kept.map((turn) => ({ ...newTurn(turn.role, turn.model), ...turn }));
      store.change({ turns: loaded, busy: false });
    },
    stop: (): void => abort?.abort(),
    clear: (): void => {
      abort?.abort();
      store.change({ turns: [], busy: false });
    },
  };
}

function requestIdOf(failure: unknown): string | undefined {
  return failure instanceof ApiError ? failure.requestId : undefined;
}

function newTurn(role: Turn['role'], model: string): Turn {
  return { id: nextId++, role, text: '', images: [], reasoning: '', status: 'done', model };
}

function answerTurn({ model, parameters }: Recipe): Turn {
  const format = formatOf(parameters);
  return { ...newTurn('assistant', model), status: 'streaming', ...(format && { format }) };
}

function askedTurns(turns: readonly Turn[]): readonly Turn[] {
  const isAsking = (turn: Turn): boolean => turn.role === 'user' || isAnswered(turn.toolCalls);
  return turns.slice(0, turns.findLastIndex(isAsking) + 1);
}

function withResults(turns: readonly Turn[], id: number, results: readonly string[]): readonly Turn[] {
  const index = turns.findIndex((turn) => turn.id === id);
  return turns
    .slice(0, index + 1)
    .map((turn) =>
      turn.id === id && turn.toolCalls
        ? { ...turn, toolCalls: turn.toolCalls.map((call, at) => ({ ...call, result: results[at] ?? '' })) }
        : turn,
    );
}

/** Parts that come in many small pieces. */
const SHOWN_SOON = new Set<ChatPart['kind']>(['text', 'reasoning', 'tool']);

function withPart(turn: Turn, part: ChatPart): Turn {
  if (part.kind === 'text') return { ...turn, text: turn.text + part.text };
  if (part.kind === 'reasoning') return { ...turn, reasoning: turn.reasoning + part.text };
  if (part.kind === 'tool') return { ...turn, toolCalls: withCallPart(turn.toolCalls ?? [], part) };
  if (part.kind === 'finish') return { ...turn, finish: part.reason };
  if (part.kind === 'failed') return { ...turn, error: { message: part.message, status: 500 } };
  return { ...turn, receipt: part.receipt };
}

function ended(turn: Turn, failure: unknown, stopped: boolean): Turn {
  if (stopped) return { ...turn, status: 'stopped' };
  return { ...turn, status: 'failed', error: answerError(failure) };
}

export function bodyWith(recipe: Recipe, turns: readonly Turn[], text: string, attached: Attached) {
  return bodyOf(recipe, [...turns, { ...newTurn('user', ''), text, ...attached }]);
}

/** The request as the API takes it; also what "Get code" shows. */
export function bodyOf(recipe: Recipe, turns: readonly Turn[]): PlaygroundChatBody {
  const system: PlaygroundMessage[] = recipe.system.trim()
    ? [{ role: 'system', content: recipe.system }]
    : [];
  const messages = turns.flatMap((turn): readonly PlaygroundMessage[] =>
    turn.role === 'user'
      ? [{ role: 'user', content: contentOf(turn) }]
      : callMessages(turn.text, turn.toolCalls ?? []),
  );
  return {
    endpoint: recipe.endpoint,
    model: recipe.model,
    messages: [...system, ...messages],
    ...recipe.parameters,
  };
}

function contentOf({ text, images, files = [] }: Turn): PlaygroundMessage['content'] {
  const texts = files.flatMap((file) => (file.kind === 'text' ? [fileText(file)] : []));
  const whole = [text, ...texts].filter((one) => one !== '').join('\n\n');
  const parts: PlaygroundPart[] = [
    ...images.map((url) => ({ type: 'image_url' as const, image_url: { url } })),
    ...files.flatMap((file): PlaygroundPart[] =>
      file.kind === 'pdf' ? [{ type: 'file', file: { filename: file.name, file_data: file.url } }] : [],
    ),
  ];
  if (parts.length === 0) return whole;
  return whole === '' ? parts : [{ type: 'text', text: whole }, ...parts];
}
