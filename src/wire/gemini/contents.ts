import { Fault } from '../../std/fault.ts';
import type { ChatMessage, ContentPart } from '../openai/chat.ts';
import { isAbsent } from '../without-absent.ts';
import type { GeminiContent, GeminiPart, GenerateContentRequest } from './request.ts';

type ToolCall = NonNullable<ChatMessage['tool_calls']>[number];

/** The instruction and the turns of a conversation as canonical messages. */
export function contentsToChatMessages(
  request: Pick<GenerateContentRequest, 'contents' | 'systemInstruction'>,
): ChatMessage[] {
  const calls = new OpenCalls();
  return [
    ...systemToChat(request.systemInstruction),
    ...request.contents.flatMap((content, index) =>
      content.role === 'model'
        ? modelToChat(content, `contents.${index}`, calls)
        : userToChat(content, `contents.${index}`, calls),
    ),
  ];
}

function systemToChat(instruction: GenerateContentRequest['systemInstruction']): ChatMessage[] {
  const text = (instruction?.parts ?? []).map((part) => part.text ?? '').join('\n\n');
  return text === '' ? [] : [{ role: 'system', content: text }];
}

/** Thoughts are not replayed: their signatures mean nothing to another provider. */
function modelToChat({ parts }: GeminiContent, path: string, calls: OpenCalls): ChatMessage[] {
  let text = '';
  const made: ToolCall[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.thought === true) continue;
    if (part.functionCall) made.push(calls.open(part.functionCall));
    else if (!isAbsent(part.text)) text += part.text;
    else if (!isAbsent(part.thoughtSignature)) continue;
    else throw notUnderstood(part, `${path}.parts.${index}`);
  }
  if (text === '' && made.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(made.length > 0 ? { tool_calls: made } : {}),
    },
  ];
}

/** Results come before anything else of their turn: in the canonical form they follow the calls at once. */
function userToChat({ parts }: GeminiContent, path: string, calls: OpenCalls): ChatMessage[] {
  const results: ChatMessage[] = [];
  const rest: ContentPart[] = [];
  for (const [index, part] of parts.entries()) {
    const where = `${path}.parts.${index}`;
    if (part.functionResponse) results.push(calls.answer(part.functionResponse, where));
    else rest.push(contentPart(part, where));
  }
  const [only, another] = rest;
  if (!only) return results;
  const content = !another && only.type === 'text' ? only.text : rest;
  return [...results, { role: 'user', content }];
}

function contentPart(part: GeminiPart, path: string): ContentPart {
  const { text, inlineData, fileData } = part;
  if (!isAbsent(text)) return { type: 'text', text };
  if (inlineData) return inlinePart(inlineData);
  if (fileData && isPicture(fileData)) return { type: 'image_url', image_url: { url: fileData.fileUri } };
  if (fileData) {
    throw new Fault('invalid_field', 'Files are taken inline (inlineData); only pictures by https address.', {
      param: `${path}.fileData`,
    });
  }
  throw notUnderstood(part, path);
}

function isPicture({ fileUri, mimeType }: { fileUri: string; mimeType?: string | null | undefined }) {
  return mimeType?.startsWith('image/') === true && fileUri.startsWith('https://');
}

function inlinePart({ mimeType, data }: { mimeType: string; data: string }): ContentPart {
  const url = `data:${mimeType};base64,${data}`;
  if (mimeType.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  if (mimeType.startsWith('audio/'))
    return { type: 'input_audio', input_audio: { data, format: audioFormat(mimeType) } };
  return { type: 'file', file: { filename: 'file', file_data: url } };
}

function audioFormat(mimeType: string): string {
  const subtype = mimeType.slice('audio/'.length).replace(/^x-/, '');
  return subtype === 'mpeg' ? 'mp3' : subtype;
}

/** Named by what it holds, as far as that is a short word. */
function notUnderstood(part: GeminiPart, path: string): Fault {
  const [kind = 'nothing'] = Object.keys(part);
  return new Fault('invalid_field', `A part with ${kind.slice(0, 40)} is not supported here.`, {
    param: path,
  });
}

interface Called {
  readonly id?: string | null | undefined;
  readonly name: string;
  readonly args?: object | null | undefined;
}

/** Calls that wait for their results. Clients need not number them, or number them anew: then name and order tell. */
class OpenCalls {
  readonly #waiting: WaitingCall[] = [];
  #count = 0;

  open({ id, name, args }: Called): ToolCall {
    const call = { id: id || `call_${this.#count}`, name };
    this.#count++;
    this.#waiting.push(call);
    return { id: call.id, type: 'function', function: { name, arguments: JSON.stringify(args ?? {}) } };
  }

  answer(result: NonNullable<GeminiPart['functionResponse']>, path: string): ChatMessage {
    const { id, name, response, parts } = result;
    if (parts && parts.length > 0)
      throw new Fault('invalid_field', 'Results of functions are taken as JSON, without parts.', {
        param: `${path}.functionResponse.parts`,
      });
    const call = this.#take((one) => one.id === id) ?? this.#take((one) => one.name === name);
    if (!call)
      throw new Fault('invalid_field', `No functionCall before this waits for a result of '${name}'.`, {
        param: `${path}.functionResponse`,
      });
    return { role: 'tool', tool_call_id: call.id, content: resultText(response ?? {}) };
  }

  #take(isMeant: (call: WaitingCall) => boolean): WaitingCall | undefined {
    const place = this.#waiting.findIndex(isMeant);
    return place === -1 ? undefined : this.#waiting.splice(place, 1)[0];
  }
}

interface WaitingCall {
  readonly id: string;
  readonly name: string;
}

/** The reference calls the field of a plain result `output`. */
function resultText(response: Record<string, unknown>): string {
  const { output, ...others } = response;
  return typeof output === 'string' && Object.keys(others).length === 0 ? output : JSON.stringify(response);
}
