import type { Fault, FaultCode } from '../../std/fault.ts';
import type { ChatCompletion, FinishReason } from '../openai/chat.ts';
import { argumentsObject, ChunkReader, type CallPart, type TokenCounts } from '../openai/chunk-parts.ts';

/** What an answer needs: our request id, the model as the client named it, and whether it shows thoughts. */
export interface GeminiContext {
  readonly id: string;
  readonly model: string;
  readonly showsThoughts: boolean;
}

interface GenerateContentAnswer {
  candidates: readonly GeminiCandidate[];
  usageMetadata?: GeminiUsage | undefined;
  modelVersion: string;
  responseId: string;
}

interface GeminiCandidate {
  content: { role: 'model'; parts: readonly GeminiAnswerPart[] };
  finishReason?: GeminiFinish | undefined;
  index: number;
}

export type GeminiAnswerPart =
  | { text: string; thought?: true; thoughtSignature?: string }
  | { functionCall: { id: string; name: string; args: Record<string, unknown> } };

type GeminiFinish = 'STOP' | 'MAX_TOKENS' | 'SAFETY';

/** Thoughts are counted beside the answer, and cached input is part of the prompt. */
interface GeminiUsage {
  promptTokenCount: number;
  candidatesTokenCount: number;
  totalTokenCount: number;
  thoughtsTokenCount?: number;
  cachedContentTokenCount?: number;
}

/** A whole answer. */
export function chatToGemini(completion: ChatCompletion, context: GeminiContext): GenerateContentAnswer {
  const parts = new ChunkReader().read(completion);
  const text = (kind: 'reasoning' | 'text' | 'refusal'): string =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('');
  const thoughts = context.showsThoughts ? text('reasoning') : '';
  const signature = parts.find((part) => part.kind === 'signature')?.signature;
  const said = text('text') + text('refusal');
  const shown: GeminiAnswerPart[] = [
    ...(thoughts === '' ? [] : [thoughtPart(thoughts, signature)]),
    ...(said === '' ? [] : [{ text: said }]),
    ...parts.filter((part) => part.kind === 'call').map((part) => callPart(part, context)),
  ];
  const reason = parts.find((part) => part.kind === 'finish')?.reason ?? 'stop';
  const refused = parts.some((part) => part.kind === 'refusal');
  return geminiAnswer(context, {
    parts: shown,
    finishReason: geminiFinish(reason, refused),
    tokens: parts.find((part) => part.kind === 'usage')?.tokens,
  });
}

interface AnswerFields {
  readonly parts: readonly GeminiAnswerPart[];
  readonly finishReason?: GeminiFinish | undefined;
  readonly tokens?: TokenCounts | undefined;
}

export function geminiAnswer(context: GeminiContext, fields: AnswerFields): GenerateContentAnswer {
  const { parts, finishReason, tokens } = fields;
  return {
    candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }), index: 0 }],
    ...(tokens && { usageMetadata: geminiUsage(tokens) }),
    modelVersion: context.model,
    responseId: context.id,
  };
}

export function thoughtPart(text: string, signature: string | undefined): GeminiAnswerPart {
  return { text, thought: true, ...(signature !== undefined && { thoughtSignature: signature }) };
}

export function callPart(call: Omit<CallPart, 'kind'>, { id }: GeminiContext): GeminiAnswerPart {
  return {
    functionCall: {
      id: call.id ?? `${id.replace(/^req_/, 'call_')}_${call.call}`,
      name: call.name ?? '',
      args: argumentsObject(call.arguments),
    },
  };
}

/** A call of a function is an ordinary end in this dialect. */
export function geminiFinish(reason: FinishReason, refused: boolean): GeminiFinish {
  if (refused || reason === 'content_filter') return 'SAFETY';
  return reason === 'length' ? 'MAX_TOKENS' : 'STOP';
}

function geminiUsage({ input, cached, output, reasoning }: TokenCounts): GeminiUsage {
  const thoughts = Math.min(output, reasoning);
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - thoughts,
    totalTokenCount: input + output,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
  };
}

interface GoogleErrorBody {
  error: { code: number; message: string; status: string; details: Record<string, unknown>[] };
}

/** Google's error model (https://google.aip.dev/193). Clients read the wait from its `RetryInfo`. */
export function googleErrorBody(fault: Fault): GoogleErrorBody {
  const { code, status, message, param, extra, retryAfterMs } = fault;
  const metadata = {
    code,
    ...(param !== undefined && { param }),
    ...Object.fromEntries(Object.entries(extra).map(([key, value]) => [key, String(value)])),
  };
  const info = {
    '@type': `${GOOGLE_TYPES}ErrorInfo`,
    reason: code.toUpperCase(),
    domain: 'tollgate',
    metadata,
  };
  const retry = { '@type': `${GOOGLE_TYPES}RetryInfo`, retryDelay: `${(retryAfterMs ?? 0) / 1000}s` };
  return {
    error: {
      code: status,
      message,
      status: STATUS_BY_CODE[code] ?? STATUS_BY_STATUS[status] ?? 'INTERNAL',
      details: retryAfterMs === undefined ? [info] : [info, retry],
    },
  };
}

const GOOGLE_TYPES = 'type.googleapis.com/google.rpc.';

const STATUS_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  // What the Gemini API says to an account without billing.
  402: 'FAILED_PRECONDITION',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  429: 'RESOURCE_EXHAUSTED',
};

const STATUS_BY_CODE: Partial<Record<FaultCode, string>> = {
  upstream_timeout: 'DEADLINE_EXCEEDED',
  service_unavailable: 'UNAVAILABLE',
  not_supported: 'UNIMPLEMENTED',
};
