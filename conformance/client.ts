import type { Account, Gateway } from './gateway.ts';

/** What a client of a gateway does, and what it gets to see. */
export interface ChatWish {
  readonly prompt: string;
  readonly maxTokens?: number;
  readonly stream?: boolean;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly node?: number;
  /** It leaves after so many pieces of text, or so many milliseconds after the backend has begun. */
  readonly leave?: { readonly afterPieces: number } | { readonly afterMs: number };
  /** Resolves when the backend has begun. */
  readonly begun?: Promise<unknown>;
}

export interface Seen {
  /** 0 where the connection ended without an answer, or the client left before one. */
  readonly status: number;
  readonly body: string;
  /** The stream ended as a stream should. */
  readonly isWhole: boolean;
}

const DEADLINE_MS = 90_000;
const MOST_CHARACTERS = 4_000_000;

export async function chat(gateway: Gateway, account: Account | undefined, wish: ChatWish): Promise<Seen> {
  const { prompt, maxTokens, stream = false, more = {} } = wish;
  const body = {
    model: gateway.chatModel,
    messages: [{ role: 'user', content: prompt }],
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...more,
  };
  return await send(gateway, account, { ...wish, path: '/chat/completions', body });
}

export async function image(
  gateway: Gateway,
  account: Account,
  wish: { readonly prompt: string; readonly n?: number; readonly node?: number },
): Promise<Seen> {
  const { prompt, n = 1 } = wish;
  const body = { model: gateway.imageModel, prompt, n, size: '1024x1024' };
  return await send(gateway, account, { ...wish, path: '/images/generations', body });
}

type Sending = Pick<ChatWish, 'headers' | 'node' | 'leave' | 'begun'> & {
  readonly path: string;
  readonly body: object;
};

async function send(
  gateway: Gateway,
  account: Account | undefined,
  { path, body, headers, node = 0, leave, begun }: Sending,
): Promise<Seen> {
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), DEADLINE_MS);
  if (leave && 'afterMs' in leave) void begun?.then(() => setTimeout(() => leaving.abort(), leave.afterMs));
  const base = gateway.nodes[node % gateway.nodes.length] ?? '';
  try {
    const response = await fetch(base + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...gateway.headers, ...account?.headers, ...headers },
      body: JSON.stringify({ ...gateway.fields, ...body }),
      signal: leaving.signal,
    });
    return await read(response, leaving, leave && 'afterPieces' in leave ? leave.afterPieces : Infinity);
  } catch {
    return { status: 0, body: '', isWhole: false };
  } finally {
    clearTimeout(timer);
  }
}

async function read(response: Response, leaving: AbortController, mostPieces: number): Promise<Seen> {
  let body = '';
  const decoder = new TextDecoder();
  const { status } = response;
  try {
    for await (const piece of response.body ?? []) {
      body += decoder.decode(piece, { stream: true });
      if (body.length > MOST_CHARACTERS) leaving.abort();
      if (body.split('"content":"').length - 1 > mostPieces) {
        leaving.abort();
        break;
      }
    }
  } catch {
    return { status, body, isWhole: false };
  }
  return { status, body, isWhole: body.includes('[DONE]') };
}
