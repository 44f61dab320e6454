import type { TokenKind } from './invoice.ts';

/** One generated request: what the client sends, when it leaves, and what the backend does with it. */
export interface Plan {
  readonly id: number;
  readonly className: string;
  readonly verdict: Verdict;
  readonly dialect: Dialect;
  readonly model: string;
  readonly streamed: boolean;
  readonly leave: Stage;
  /** The client stays: at the stage `leave` the backend falls silent, until somebody else ends the request. */
  readonly clientStays?: true | undefined;
  readonly ask: Ask;
  readonly answer: Answer;
  /** Dollars on an account of its own; absent, the request is paid from the common one. */
  readonly balance?: string | undefined;
}

/**
 * What is demanded of a class. `exact`: charge = invoice. `left`: the sums of charge and invoice are compared. `apart`: what
 * was charged and what was booked as the operator's own cost are together the invoice. `cost`: what was
 * booked as our cost is the invoice. `possible`: the answer never came, so what was booked is the most that it can cost, and
 * nothing is charged. `failover`: the first backend failed and the second served: the charge is the second's invoice, and the first's is
 * booked as possible. `untold`: the backend broke off before it reported what only its report tells; what was charged and what
 * was booked as possible are together not below the invoice. `refused`: no backend is asked.
 */
export type Verdict = 'exact' | 'left' | 'apart' | 'cost' | 'possible' | 'failover' | 'untold' | 'refused';

export const CHAT_DIALECTS = ['public', 'v1', 'messages', 'responses', 'gemini'] as const;
export type ChatDialect = (typeof CHAT_DIALECTS)[number];
export type Dialect = ChatDialect | 'embeddings' | 'public images' | 'v1 images';

/** When the client leaves. A whole answer has no events, so there are only the stages before and during its body. */
export const STREAM_STAGES = [
  'before headers',
  'at headers',
  'at first event',
  'in mid text',
  'after finish',
  'after usage',
] as const;
export const WHOLE_STAGES = ['before headers', 'in mid body'] as const;
export type Stage = (typeof STREAM_STAGES)[number] | (typeof WHOLE_STAGES)[number] | 'never';

export interface Ask {
  readonly prompt: string;
  readonly system?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly choices?: number | undefined;
  readonly withTools?: boolean | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** In the words of Anthropic, which others took over: ask for caching, for this long. */
  readonly cacheFor?: '5m' | '1h' | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The client reads nothing between the first event and the moment at which it leaves, or the backend has written everything. */
  readonly stopsReading?: boolean | undefined;
  /** Embeddings: a list of tokens instead of text. */
  readonly tokenInput?: number | undefined;
  readonly images?: { readonly count: number; readonly size: string; readonly quality?: string | undefined };
  /** Further fields of the body. */
  readonly more?: Readonly<Record<string, unknown>> | undefined;
  /** Fields that the gateway must not pass on: the backend refuses, or bills, them. */
  readonly unknown?: Readonly<Record<string, unknown>> | undefined;
}

export interface Attachment {
  readonly kind: 'image' | 'file' | 'audio';
  /** What the backend bills for it. */
  readonly tokens: number;
  /** Under a price of its own; absent, as plain input. */
  readonly billedAs?: TokenKind | undefined;
  /** Base64 of the content, or an address. */
  readonly data: string;
}

export interface Answer {
  /** Reasoning tokens that nobody sees, before everything else. */
  readonly hiddenTokens?: number | undefined;
  readonly reasoning?: { readonly name: string; readonly text: string } | undefined;
  readonly kind: 'text' | 'refusal' | 'tool call' | 'transcript';
  /** The text of that kind. A client that leaves in mid text leaves when it has seen its word {@link HALFWAY}. */
  readonly text: string;
  readonly logprobs?: boolean | undefined;
  readonly usage: 'true' | 'zero' | 'early' | 'absurd' | 'none';
  /** Shares of the input that are billed under keys of their own: what came from a cache, or was written there. */
  readonly inputPercents?: Readonly<Partial<Record<TokenKind, number>>> | undefined;
  /** By the catalog's keys: what the backend uses beside its input and the text, out of sight. Its report tells. */
  readonly used?: Readonly<Record<string, number>> | undefined;
  /** Web searches before the answer; each finds so many tokens, which are input. */
  readonly searches?: { readonly count: number; readonly tokensEach: number } | undefined;
  /** Sound beside the words that it says. */
  readonly spokenTokens?: number | undefined;
  /** Pictures before the answer. */
  readonly pictures?: number | undefined;
  readonly serviceTier?: string | undefined;
  /** The backend ignores the output cap. */
  readonly ignoresCap?: boolean | undefined;
  /** Silence in the middle. */
  readonly pauseMs?: number | undefined;
  readonly failure?: Failure | undefined;
}

/** How the backend itself ends a request early. What it generated until then is billed. */
export interface Failure {
  readonly at: 'before headers' | 'at headers' | 'in mid text' | 'after usage';
  readonly how: 'reset' | 'close' | 'busy' | 'error';
  /** The one that fails; absent, whichever is called first. */
  readonly backend?: string | undefined;
}

/** Stands once in the middle of an answer, in one chunk. */
export const HALFWAY = 'halfwaypoint';
/** Stands at its end, in one chunk. */
export const LAST = 'lastwordofall';

/** The first word of a prompt, by which the backend knows its part. */
export function nameOf(plan: Pick<Plan, 'id'>): string {
  return `bill-${plan.id}:`;
}
