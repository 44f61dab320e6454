import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import {
  ABOUT,
  CAP,
  promptFor,
  SCHEMA,
  toolsFor,
  type Json,
  type MatrixDialect,
  type ReadAnswer,
} from './asked.ts';
import type { Feature } from './cases.ts';

/** Gemini's own API, as Google's clients speak it. */
export const gemini: MatrixDialect = {
  path: (model, stream) =>
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  request: (feature) => ({
    contents: [
      {
        role: 'user',
        parts: [
          { text: promptFor(feature) },
          ...(feature === 'image in' ? [{ inlineData: { mimeType: 'image/png', data: PIXEL_BASE64 } }] : []),
        ],
      },
    ],
    generationConfig: configFor(feature),
    ...(toolsFor(feature).length > 0 && {
      tools: [
        {
          functionDeclarations: toolsFor(feature).map((name) => ({
            name,
            description: ABOUT,
            parametersJsonSchema: SCHEMA,
          })),
        },
      ],
    }),
  }),
  withResults: (request, calls) => ({
    ...request,
    contents: [
      ...(request['contents'] as Json[]),
      {
        role: 'model',
        parts: calls.map(({ id, name, input }) => ({
          functionCall: { id, name, args: JSON.parse(input) as Json },
        })),
      },
      {
        role: 'user',
        parts: calls.map(({ id, name }) => ({
          functionResponse: { id, name, response: { output: 'cold' } },
        })),
      },
    ],
  }),
  readWhole: (answer) => answerOf([answer]),
  readStream: (events) => answerOf(events),
};

function configFor(feature: Feature): Json {
  switch (feature) {
    case 'capped':
      return { maxOutputTokens: CAP };
    case 'JSON object':
      return { responseMimeType: 'application/json' };
    case 'JSON schema':
      return { responseMimeType: 'application/json', responseJsonSchema: SCHEMA };
    case 'reasoning':
      return { maxOutputTokens: 4096, thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } };
    case 'plain':
    case 'tools':
    case 'parallel tools':
    case 'image in':
    case '400':
    case '401':
    case '429':
    case '500':
    case 'error in a stream':
      return {};
  }
}

interface PartRead {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args: unknown };
}

interface PieceRead {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly PartRead[] };
    readonly finishReason?: string;
  }[];
  readonly usageMetadata?: {
    readonly promptTokenCount: number;
    readonly candidatesTokenCount: number;
    readonly thoughtsTokenCount?: number;
  };
  readonly error?: unknown;
}

function answerOf(pieces: readonly PieceRead[]): ReadAnswer {
  const candidates = pieces.flatMap(({ candidates: own }) => own ?? []);
  const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
  const joined = (isThought: boolean) =>
    parts.map(({ text = '', thought = false }) => (thought === isThought ? text : '')).join('');
  const calls = parts.flatMap(({ functionCall: call }) =>
    call ? [{ id: call.id ?? '', name: call.name, input: JSON.stringify(call.args) }] : [],
  );
  const usage = pieces.findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata;
  const reason = candidates.map(({ finishReason }) => finishReason).find((one) => one !== undefined);
  return {
    text: joined(false),
    used: usage && {
      input: usage.promptTokenCount,
      output: usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0),
    },
    thought: joined(true),
    calls,
    finish:
      reason === 'MAX_TOKENS'
        ? 'length'
        : reason !== 'STOP'
          ? 'other'
          : calls.length > 0
            ? 'tool_calls'
            : 'stop',
    failed: reason === undefined || pieces.some(({ error }) => error !== undefined),
  };
}
