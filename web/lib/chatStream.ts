import type { ErrorBody } from '../../src/console/contract.ts';
import type { PlaygroundChatBody, PlaygroundReceipt } from './answers.ts';
import { ApiError, call, fetchRoute, type Wallet } from './api.ts';
import { readEvents } from './eventStream.ts';

export type ChatPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly index: number;
      readonly id?: string | undefined;
      readonly name?: string | undefined;
      readonly arguments?: string | undefined;
    }
  | { readonly kind: 'finish'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'receipt'; readonly receipt: PlaygroundReceipt };

interface StreamOptions {
  readonly body: PlaygroundChatBody;
  readonly signal: AbortSignal;
  readonly wallet: Wallet;
  /** Known as soon as the answer begins, so that a stopped one can still be looked up. */
  readonly onRequestId?: (id: string) => void;
}

/** One answer of the playground, piece by piece. The session authenticates it, so the browser needs no token. */
export async function* streamChat({
  body,
  signal,
  wallet,
  onRequestId,
}: StreamOptions): AsyncGenerator<ChatPart> {
  const query = { wallet };
  const response = await fetchRoute('POST /api/console/playground/chat', { query, body, signal });
  const requestId = response.headers.get('x-request-id');
  if (requestId) onRequestId?.(requestId);
  if (!response.body) throw new ApiError(response.status, 'internal_error', 'The answer has no body.');
  for await (const { event, data } of readEvents(response.body)) {
    if (data === '[DONE]') continue;
    const message: unknown = JSON.parse(data);
    // The event's name and shape tell which of the contract's messages this is.
    if (event === 'tollgate') yield { kind: 'receipt', receipt: message as PlaygroundReceipt };
    else if (isError(message)) yield { kind: 'failed', message: message.error.message };
    else yield* partsOf(message as ChatChunk);
  }
}

/** The part of the public API's chunk that is read. */
interface ChatChunk {
  choices: {
    delta: {
      content?: string | null;
      reasoning_content?: string | null;
      refusal?: string | null;
      /** Each piece belongs to the call of that number; its arguments follow each other. */
      tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[] | null;
    };
    finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | null;
  }[];
}

function* partsOf(chunk: ChatChunk): Generator<ChatPart> {
  const choice = chunk.choices[0];
  if (!choice) return;
  const { reasoning_content: reasoning, content, refusal, tool_calls: calls } = choice.delta;
  if (reasoning) yield { kind: 'reasoning', text: reasoning };
  if (content) yield { kind: 'text', text: content };
  if (refusal) yield { kind: 'text', text: refusal };
  for (const { index, id, function: called } of calls ?? [])
    yield { kind: 'tool', index, id, name: called?.name, arguments: called?.arguments };
  if (choice.finish_reason) yield { kind: 'finish', reason: choice.finish_reason };
}

/** A stopped stream brings no receipt: the request is settled a moment later, and the receipt is fetched then. */
export async function settledReceipt(requestId: string): Promise<PlaygroundReceipt | undefined> {
  for (let attempt = 0; attempt < 5; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 300 * 2 ** attempt));
    try {
      const receipt = await call('GET /api/console/requests/{id}', { params: { id: requestId } });
      if (receipt.state !== 'pending') {
        return { ...receipt, requestId: receipt.id, costUsd: receipt.chargedUsd, availableUsd: null };
      }
    } catch {
      return undefined; // The answer is then shown without its price; the request log has it.
    }
  }
  return undefined;
}

function isError(message: unknown): message is ErrorBody {
  return typeof message === 'object' && message !== null && 'error' in message;
}
