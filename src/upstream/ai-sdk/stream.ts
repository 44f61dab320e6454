import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ChatDelta, FinishReason } from '../../wire/openai/chat.ts';
import { finishReason } from './answer.ts';

/**
 * A stream is a fold: for each part of the AI SDK's stream, one small function for its type returns the next state and
 * the deltas to send. A stream that ends without a finish was cut off, and `end` stays undefined.
 */
export function reduce(state: StreamState, part: Part): Step {
  // The table is exhaustive by its type; the compiler cannot see that key and argument belong together.
  const step = STEPS[part.type] as (state: StreamState, part: Part) => Step;
  return step(state, part);
}

export interface StreamState {
  /** Tool calls in order of appearance: the canonical form numbers them. */
  readonly tools: ReadonlyMap<string, ToolSlot>;
  readonly started: boolean;
  readonly end: StreamFinish | undefined;
}

interface ToolSlot {
  readonly index: number;
  readonly hasInput: boolean;
}

export type StreamFinish =
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly usage: unknown }
  | { readonly kind: 'error'; readonly error: unknown };

interface Step {
  readonly state: StreamState;
  readonly deltas: readonly ChatDelta[];
}

export const STREAM_START: StreamState = { tools: new Map(), started: false, end: undefined };

export type Part = LanguageModelV4StreamPart;
type PartOf<Type extends Part['type']> = Extract<Part, { type: Type }>;

function textDelta(state: StreamState, part: PartOf<'text-delta'>): Step {
  return part.delta === '' ? ignorePart(state) : emitDelta(state, { content: part.delta });
}

function reasoningDelta(state: StreamState, part: PartOf<'reasoning-delta'>): Step {
  return part.delta === '' ? ignorePart(state) : emitDelta(state, { reasoning_content: part.delta });
}

function toolInputStart(state: StreamState, part: PartOf<'tool-input-start'>): Step {
  if (part.providerExecuted || state.tools.has(part.id)) return ignorePart(state);
  return openTool(state, { id: part.id, name: part.toolName, input: '' });
}

function toolInputDelta(state: StreamState, part: PartOf<'tool-input-delta'>): Step {
  const slot = state.tools.get(part.id);
  if (!slot || part.delta === '') return ignorePart(state);
  const tools = slot.hasInput ? state.tools : new Map(state.tools).set(part.id, { ...slot, hasInput: true });
  return emitDelta(
    { ...state, tools },
    { tool_calls: [{ index: slot.index, function: { arguments: part.delta } }] },
  );
}

/** The whole call, which is new only from backends that do not stream its input. */
function toolCall(state: StreamState, part: PartOf<'tool-call'>): Step {
  if (part.providerExecuted) return ignorePart(state);
  const slot = state.tools.get(part.toolCallId);
  if (!slot) return openTool(state, { id: part.toolCallId, name: part.toolName, input: part.input });
  if (slot.hasInput) return ignorePart(state);
  return toolInputDelta(state, { type: 'tool-input-delta', id: part.toolCallId, delta: part.input });
}

function finish(state: StreamState, part: PartOf<'finish'>): Step {
  const reason = finishReason(part.finishReason, state.tools.size > 0);
  if (reason === undefined) return ended(state, { kind: 'error', error: new Error(cutMessage(part)) });
  return ended(state, { kind: 'finish', reason, usage: part.usage.raw });
}

function error(state: StreamState, part: PartOf<'error'>): Step {
  return ended(state, { kind: 'error', error: part.error });
}

function ignorePart(state: StreamState): Step {
  return { state, deltas: [] };
}

/** The canonical form has no place for block boundaries, sources, files and the backend's own tools. */
const STEPS: { readonly [Type in Part['type']]: (state: StreamState, part: PartOf<Type>) => Step } = {
  'text-start': ignorePart,
  'text-delta': textDelta,
  'text-end': ignorePart,
  'reasoning-start': ignorePart,
  'reasoning-delta': reasoningDelta,
  'reasoning-end': ignorePart,
  'tool-input-start': toolInputStart,
  'tool-input-delta': toolInputDelta,
  'tool-input-end': ignorePart,
  'tool-call': toolCall,
  'tool-result': ignorePart,
  'tool-approval-request': ignorePart,
  'stream-start': ignorePart,
  'response-metadata': ignorePart,
  'reasoning-file': ignorePart,
  custom: ignorePart,
  file: ignorePart,
  source: ignorePart,
  ping: ignorePart,
  raw: ignorePart,
  finish,
  error,
};

function openTool(state: StreamState, call: { id: string; name: string; input: string }): Step {
  const index = state.tools.size;
  const tools = new Map(state.tools).set(call.id, { index, hasInput: call.input !== '' });
  const opened = {
    index,
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.input },
  };
  return emitDelta({ ...state, tools }, { tool_calls: [opened] });
}

/** The first delta of an answer carries the role. */
function emitDelta(state: StreamState, delta: ChatDelta): Step {
  if (state.started) return { state, deltas: [delta] };
  return { state: { ...state, started: true }, deltas: [{ role: 'assistant', ...delta }] };
}

function ended(state: StreamState, end: StreamFinish): Step {
  return { state: { ...state, end }, deltas: [] };
}

function cutMessage(part: PartOf<'finish'>): string {
  return `the answer did not finish (${part.finishReason.raw ?? part.finishReason.unified})`;
}
