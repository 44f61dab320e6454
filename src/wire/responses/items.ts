import type { ItemStatus, OutputItem, OutputPart, ResponseObject, SummaryPart } from './answer.ts';
import { customInput, type ToolOrigin } from './tools.ts';

/** The items of an answer while they are written: opened, appended to, closed, each with its events. */
export type OpenItem = OpenMessage | OpenReasoning | OpenCall;
export type Emit = (event: NewEvent) => void;

interface ItemBase {
  id: string;
  /** The item as reported at its end. */
  done: OutputItem | undefined;
}

export interface OpenMessage extends ItemBase {
  readonly kind: 'message';
  readonly index: number;
  readonly parts: MessagePart[];
}

interface MessagePart {
  readonly type: 'output_text' | 'refusal';
  text: string;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
}

function newPart(type: MessagePart['type']): MessagePart {
  return { type, text: '', annotations: [], logprobs: [] };
}

export interface OpenReasoning extends ItemBase {
  readonly kind: 'reasoning';
  readonly index: number;
  text: string;
  encrypted: string | undefined;
}

export interface OpenCall extends ItemBase {
  readonly kind: 'call';
  /** Absent until the call is announced. */
  index: number | undefined;
  callId: string | undefined;
  name: string | undefined;
  arguments: string;
  origin: ToolOrigin | undefined;
}

export function newMessage(id: string, index: number): OpenMessage {
  return { kind: 'message', id, index, parts: [], done: undefined };
}

export function newReasoning(id: string, index: number): OpenReasoning {
  return { kind: 'reasoning', id, index, text: '', encrypted: undefined, done: undefined };
}

export function newCall(): OpenCall {
  return {
    kind: 'call',
    id: '',
    index: undefined,
    callId: undefined,
    name: undefined,
    arguments: '',
    origin: undefined,
    done: undefined,
  };
}

export function openItem(item: OpenItem, emit: Emit): void {
  emit({ type: 'response.output_item.added', output_index: item.index ?? 0, item: emptyItem(item) });
  if (item.kind !== 'reasoning') return;
  emit({
    type: 'response.reasoning_summary_part.added',
    ...inSummary(item),
    part: { type: 'summary_text', text: '' },
  });
}

/** Text and refusal are consecutive parts of one message. */
export function addToMessage(
  item: OpenMessage,
  type: 'output_text' | 'refusal',
  { text, logprobs = [] }: { readonly text: string; readonly logprobs?: readonly unknown[] | undefined },
  emit: Emit,
): void {
  const part = partFor(item, type, emit);
  part.text += text;
  part.logprobs.push(...logprobs);
  if (type === 'refusal') emit({ type: 'response.refusal.delta', ...inContent(item), delta: text });
  else emit({ type: 'response.output_text.delta', ...inContent(item), delta: text, logprobs });
}

/** Sources of the text, in the form of this dialect: `url_citation` has its members beside the type here. */
export function annotateMessage(item: OpenMessage, annotations: readonly unknown[], emit: Emit): void {
  const part = partFor(item, 'output_text', emit);
  for (const given of annotations) {
    const annotation = annotationOf(given);
    emit({
      type: 'response.output_text.annotation.added',
      ...inContent(item),
      annotation_index: part.annotations.length,
      annotation,
    });
    part.annotations.push(annotation);
  }
}

function annotationOf(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const { type, url_citation: citation, ...others } = given as { type?: unknown; url_citation?: unknown };
  return typeof citation === 'object' && citation !== null ? { type, ...citation, ...others } : given;
}

function partFor(item: OpenMessage, type: MessagePart['type'], emit: Emit): MessagePart {
  const last = item.parts.at(-1);
  if (last?.type === type) return last;
  closePart(item, emit);
  const part = newPart(type);
  item.parts.push(part);
  emit({ type: 'response.content_part.added', ...inContent(item), part: outputPart(newPart(type)) });
  return part;
}

export function addToReasoning(item: OpenReasoning, text: string, emit: Emit): void {
  item.text += text;
  emit({ type: 'response.reasoning_summary_text.delta', ...inSummary(item), delta: text });
}

/** The arguments of a custom tool are text within JSON, so they are sent at the end. */
export function addToCall(item: OpenCall, text: string, emit: Emit): void {
  if (text === '' || item.origin?.kind === 'custom') return;
  emit({ type: 'response.function_call_arguments.delta', ...inItem(item), delta: text });
}

export function closeItem(item: OpenItem, status: ItemStatus, emit: Emit): void {
  switch (item.kind) {
    case 'message':
      closePart(item, emit);
      break;
    case 'reasoning':
      closeReasoning(item, emit);
      break;
    case 'call':
      closeCall(item, emit);
      break;
  }
  item.done = wholeItem(item, status);
  emit({ type: 'response.output_item.done', output_index: item.index ?? 0, item: item.done });
}

function closePart(item: OpenMessage, emit: Emit): void {
  const part = item.parts.at(-1);
  if (!part) return;
  if (part.type === 'refusal')
    emit({ type: 'response.refusal.done', ...inContent(item), refusal: part.text });
  else
    emit({ type: 'response.output_text.done', ...inContent(item), text: part.text, logprobs: part.logprobs });
  emit({ type: 'response.content_part.done', ...inContent(item), part: outputPart(part) });
}

function closeReasoning(item: OpenReasoning, emit: Emit): void {
  emit({ type: 'response.reasoning_summary_text.done', ...inSummary(item), text: item.text });
  const part = { type: 'summary_text' as const, text: item.text };
  emit({ type: 'response.reasoning_summary_part.done', ...inSummary(item), part });
}

function closeCall(item: OpenCall, emit: Emit): void {
  if (item.origin?.kind === 'custom') {
    const input = customInput(item.arguments);
    emit({ type: 'response.custom_tool_call_input.delta', ...inItem(item), delta: input });
    emit({ type: 'response.custom_tool_call_input.done', ...inItem(item), input });
    return;
  }
  const name = item.origin?.name ?? '';
  emit({ type: 'response.function_call_arguments.done', ...inItem(item), name, arguments: item.arguments });
}

function emptyItem(item: OpenItem): OutputItem {
  switch (item.kind) {
    case 'message':
      return { id: item.id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    case 'reasoning':
      return { id: item.id, type: 'reasoning', summary: [] };
    case 'call':
      return callItem({ ...item, arguments: '' }, 'in_progress');
  }
}

function wholeItem(item: OpenItem, status: ItemStatus): OutputItem {
  switch (item.kind) {
    case 'message':
      return { id: item.id, type: 'message', status, role: 'assistant', content: item.parts.map(outputPart) };
    case 'reasoning':
      return {
        id: item.id,
        type: 'reasoning',
        summary: item.text === '' ? [] : [{ type: 'summary_text', text: item.text }],
        ...(item.encrypted !== undefined && { encrypted_content: item.encrypted }),
      };
    case 'call':
      return callItem(item, status);
  }
}

function callItem(item: OpenCall, status: ItemStatus): OutputItem {
  const origin = item.origin ?? { kind: 'function', name: '', namespace: undefined };
  const named = {
    id: item.id,
    status,
    call_id: item.callId ?? '',
    name: origin.name,
    ...(origin.namespace === undefined ? {} : { namespace: origin.namespace }),
  };
  if (origin.kind === 'custom')
    return { ...named, type: 'custom_tool_call', input: customInput(item.arguments) };
  return { ...named, type: 'function_call', arguments: item.arguments };
}

function outputPart({ type, text, annotations, logprobs }: MessagePart): OutputPart {
  return type === 'refusal' ? { type, refusal: text } : { type, text, annotations, logprobs };
}

function inItem(item: OpenItem): { item_id: string; output_index: number } {
  return { item_id: item.id, output_index: item.index ?? 0 };
}

function inContent(item: OpenMessage): { item_id: string; output_index: number; content_index: number } {
  return { ...inItem(item), content_index: item.parts.length - 1 };
}

function inSummary(item: OpenReasoning): { item_id: string; output_index: number; summary_index: number } {
  return { ...inItem(item), summary_index: 0 };
}

/** One event of a Responses stream. */
export type ResponsesEvent = NewEvent & { sequence_number: number };

export type NewEvent = ResponseEvent | ItemEvent | TextEvent | ReasoningEvent | CallEvent | ErrorEvent;

type ResponseEvent = {
  type:
    | 'response.created'
    | 'response.in_progress'
    | 'response.completed'
    | 'response.incomplete'
    | 'response.failed';
  response: ResponseObject;
};

type ItemEvent = {
  type: 'response.output_item.added' | 'response.output_item.done';
  output_index: number;
  item: OutputItem;
};

type InItem = { item_id: string; output_index: number };
type InContent = InItem & { content_index: number };
type InSummary = InItem & { summary_index: number };

type TextEvent =
  | (InContent & { type: 'response.content_part.added' | 'response.content_part.done'; part: OutputPart })
  | (InContent & { type: 'response.output_text.delta'; delta: string; logprobs: readonly unknown[] })
  | (InContent & { type: 'response.output_text.done'; text: string; logprobs: readonly unknown[] })
  | (InContent & {
      type: 'response.output_text.annotation.added';
      annotation_index: number;
      annotation: unknown;
    })
  | (InContent & { type: 'response.refusal.delta'; delta: string })
  | (InContent & { type: 'response.refusal.done'; refusal: string });

type ReasoningEvent =
  | (InSummary & {
      type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      part: SummaryPart;
    })
  | (InSummary & { type: 'response.reasoning_summary_text.delta'; delta: string })
  | (InSummary & { type: 'response.reasoning_summary_text.done'; text: string });

type CallEvent =
  | (InItem & { type: 'response.function_call_arguments.delta'; delta: string })
  | (InItem & { type: 'response.function_call_arguments.done'; name: string; arguments: string })
  | (InItem & { type: 'response.custom_tool_call_input.delta'; delta: string })
  | (InItem & { type: 'response.custom_tool_call_input.done'; input: string });

/** Flat as documented, nested as OpenAI sends it: SDKs read one or the other. */
type ErrorEvent = {
  type: 'error';
  code: string;
  message: string;
  param: string | null;
  error: { code: string; message: string; type: string; param: string | null };
};
