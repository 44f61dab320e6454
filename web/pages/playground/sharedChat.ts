import { parseChat, MAX_CHAT_CHARACTERS, type KeptChat } from './keptChats.ts';

/** Mail programs and messengers cut longer links. */
export const MAX_LINK_CHARACTERS = 30_000;
const PREFIX = '#chat=';

/** A chat for somebody else: texts, tools and models, without receipts, reasoning and failures. */
export function chatForOthers({ id, title, at, choice, system, form, turns }: KeptChat): KeptChat {
  return {
    id,
    title,
    at,
    choice,
    system,
    ...(form && { form }),
    turns: turns
      .filter(({ role, text, toolCalls }) => role === 'user' || text !== '' || toolCalls)
      .map(({ role, text, files, model, format, toolCalls }) => ({
        role,
        text,
        reasoning: '',
        status: 'done',
        model,
        ...(files && { files }),
        ...(format && { format }),
        ...(toolCalls && { toolCalls }),
      })),
  };
}

/** The chat comes after the `#`, which browsers do not send. `undefined` if it is too long for a link. */
export async function chatFragment(chat: KeptChat): Promise<string | undefined> {
  const json = new TextEncoder().encode(JSON.stringify(chatForOthers(chat)));
  const bytes = await piped(json, new CompressionStream('deflate-raw'));
  const text = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
  return text.length > MAX_LINK_CHARACTERS ? undefined : `${PREFIX}${text}`;
}

export function isChatFragment(hash: string): boolean {
  return hash.startsWith(PREFIX);
}

/** `undefined` if the link is broken, or not one of ours. */
export async function chatFromFragment(hash: string): Promise<KeptChat | undefined> {
  if (!isChatFragment(hash) || hash.length > MAX_LINK_CHARACTERS + PREFIX.length) return undefined;
  try {
    const text = hash.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(text), (sign) => sign.codePointAt(0) ?? 0);
    const json = await piped(bytes, new DecompressionStream('deflate-raw'));
    return parseChat(JSON.parse(new TextDecoder().decode(json)));
  } catch {
    return undefined;
  }
}

/** Stops at the size of the largest chat, so that a small link cannot become a huge text. */
async function piped(bytes: Uint8Array<ArrayBuffer>, through: GenericTransformStream): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(through)
    .getReader() as ReadableStreamDefaultReader<Uint8Array>;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 4 * MAX_CHAT_CHARACTERS) throw new Error('this is too long for a chat');
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
