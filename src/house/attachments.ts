import type { ContentPart } from '../wire/openai/chat.ts';
import { dataOf } from './conversation.ts';

/** Describes what was attached to a message: its kind, its size, and for images their dimensions. */
export function describeAttachments(parts: readonly ContentPart[]): string {
  if (parts.length === 0) return 'I see no pictures, sound or files in your message.';
  const images = parts.filter((part) => part.type === 'image_url').length;
  const others = parts.length - images;
  const counts = [
    images > 0 ? plural(images, 'image') : '',
    others > 0 ? plural(others, 'other attachment') : '',
  ];
  const lines = parts.map((part, index) => `${index + 1}. ${describePart(part)}`);
  return [`I see ${counts.filter((text) => text !== '').join(' and ')}:`, ...lines].join('\n');
}

function describePart(part: ContentPart): string {
  const data = dataOf(part);
  if (part.type === 'input_audio')
    return `sound, ${part.input_audio.format}, ${bytesText(base64Bytes(data))}`;
  const match = /^data:([^;,]*)((?:;[^;,]*)*),/.exec(data.slice(0, 256));
  if (!match)
    return part.type === 'file' ? 'a file by reference' : `a link to ${hostOf(data)} (links are not opened)`;
  const payload = data.slice(match[0].length);
  const size = match[2]?.includes('base64') ? base64Bytes(payload) : payload.length;
  const shape =
    part.type === 'image_url'
      ? dimensions(Buffer.from(payload.slice(0, HEAD_CHARACTERS), 'base64'))
      : undefined;
  return [match[1] === '' ? 'text/plain' : match[1], shape, bytesText(size)]
    .filter((text) => text !== undefined)
    .join(', ');
}

/** Enough to reach the frame header of a JPEG with a large preview in it. */
const HEAD_CHARACTERS = 262_144;

function dimensions(bytes: Buffer): string | undefined {
  if (bytes.length > 24 && bytes.readUInt32BE(0) === 0x89504e47)
    return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`;
  if (bytes.length > 10 && bytes.toString('latin1', 0, 3) === 'GIF')
    return `${bytes.readUInt16LE(6)}x${bytes.readUInt16LE(8)}`;
  if (bytes.length > 4 && bytes.readUInt16BE(0) === 0xffd8) return jpegDimensions(bytes);
  return undefined;
}

/** Follows the markers to the frame header, which contains height and width. */
function jpegDimensions(bytes: Buffer): string | undefined {
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const frame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (frame) return `${bytes.readUInt16BE(at + 7)}x${bytes.readUInt16BE(at + 5)}`;
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function base64Bytes(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}

function bytesText(bytes: number): string {
  return `${bytes} bytes`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'somewhere';
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
