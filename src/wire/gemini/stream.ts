import { Fault } from '../../std/fault.ts';
import type { FinishReason } from '../openai/chat.ts';
import type { ChatEncoder } from '../openai/answer.ts';
import { ChunkReader, type CallPart, type ChunkPart, type TokenCounts } from '../openai/chunk-parts.ts';
import {
  callPart,
  geminiAnswer,
  geminiFinish,
  googleErrorBody,
  thoughtPart,
  type GeminiAnswerPart,
  type GeminiContext,
} from './answer.ts';

/** How the pieces of an answer are put into the body: server-sent events, or the elements of one JSON array. */
interface Framing {
  /** A piece of the answer. */
  piece(json: string): string;
  /** An error as the last piece. */
  error(json: string): string;
  end(): string;
  readonly keepAlive?: string;
}

/**
 * The stream of `streamGenerateContent`: answers that each hold a piece. Functions are called in one piece, at the end, and
 * the last piece has the reason of the end and the usage.
 */
export function geminiEncoder(context: GeminiContext, isSse: boolean): ChatEncoder {
  const framing = isSse ? EVENTS : jsonArray();
  const state = new PieceReader(context);
  const encoded = (parts: readonly GeminiAnswerPart[]): string =>
    framing.piece(JSON.stringify(geminiAnswer(context, { parts })));
  return {
    chunk: (_data, chunk) =>
      state.reader
        .read(chunk)
        .flatMap((part) => state.take(part))
        .map((part) => encoded([part]))
        .join(''),
    error: (fault) => framing.error(JSON.stringify(googleErrorBody(fault))),
    done: () => framing.piece(JSON.stringify(state.last())) + framing.end(),
    ...(framing.keepAlive !== undefined && { keepAlive: framing.keepAlive }),
  };
}

/**
 * Google's own clients overlook an error event, but none overlooks text after the last event; other clients read the event
 * and overlook that text. So an error is sent in both ways.
 */
const EVENTS: Framing = {
  piece: (json) => `data: ${json}\n\n`,
  error: (json) => `data: ${json}\n\n${json}`,
  end: () => '',
};

function jsonArray(): Framing {
  let isFirst = true;
  const next = (json: string): string => {
    const before = isFirst ? '[' : ',\n';
    isFirst = false;
    return before + json;
  };
  return { piece: next, error: (json) => `${next(json)}]`, end: () => ']', keepAlive: '\n' };
}

/** A call is kept until the end of the answer. Far above what any model writes. */
const MAX_KEPT_LENGTH = 16_000_000;

class PieceReader {
  readonly reader = new ChunkReader();
  readonly #context: GeminiContext;
  readonly #calls = new Map<number, Omit<CallPart, 'kind'>>();
  #keptLength = 0;
  #reason: FinishReason = 'stop';
  #refused = false;
  #tokens: TokenCounts | undefined;

  constructor(context: GeminiContext) {
    this.#context = context;
  }

  take(part: ChunkPart): GeminiAnswerPart[] {
    switch (part.kind) {
      case 'text':
        return [{ text: part.text }];
      case 'refusal':
        this.#refused = true;
        return [{ text: part.text }];
      case 'reasoning':
        return this.#context.showsThoughts ? [thoughtPart(part.text, undefined)] : [];
      case 'signature':
        return this.#context.showsThoughts ? [thoughtPart('', part.signature)] : [];
      case 'call':
        this.#keep(part);
        return [];
      case 'finish':
        this.#reason = part.reason;
        return [];
      case 'usage':
        this.#tokens = part.tokens;
        return [];
      case 'encrypted':
      case 'annotations':
        // This dialect has no place for them.
        return [];
    }
  }

  last() {
    return geminiAnswer(this.#context, {
      parts: [...this.#calls.values()].map((call) => callPart(call, this.#context)),
      finishReason: geminiFinish(this.#reason, this.#refused),
      tokens: this.#tokens,
    });
  }

  #keep({ call, id, name, arguments: more }: CallPart): void {
    this.#keptLength += more.length;
    if (this.#keptLength > MAX_KEPT_LENGTH)
      throw new Fault('upstream_error', 'The backend wrote an answer without end.');
    const known = this.#calls.get(call);
    this.#calls.set(call, {
      call,
      id: known?.id ?? id,
      name: known?.name ?? name,
      arguments: (known?.arguments ?? '') + more,
    });
  }
}
