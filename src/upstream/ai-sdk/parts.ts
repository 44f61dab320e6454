import type {
  LanguageModelV4FilePart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import type { ChatMessage, ContentPart } from '../../wire/openai/chat.ts';
import { rejected } from '../response.ts';
import { cacheControlOptions, type Provider } from './provider.ts';

type Content = ChatMessage['content'];
type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** The content of a user message: text, images, audio and files, inline or (images) by URL. */
export function userParts(content: Content, provider: Provider): UserPart[] {
  if (!Array.isArray(content)) return [{ type: 'text', text: content ?? '' }];
  return content.map((part) => ({ ...userPart(part, provider), ...cacheControlOptions(part, provider) }));
}

/** The text of a message whose role has no other content. */
export function contentText(content: Content, separator: string): string {
  if (!Array.isArray(content)) return content ?? '';
  return content.map(partText).join(separator);
}

export function toolOutput(content: Content, provider: Provider): LanguageModelV4ToolResultOutput {
  if (!Array.isArray(content) || content.every((part) => part.type === 'text'))
    return { type: 'text', value: contentText(content, '\n') };
  return { type: 'content', value: content.map((part) => userPart(part, provider)) };
}

function partText(part: ContentPart): string {
  if (part.type === 'text') return part.text;
  if (part.type === 'refusal') return part.refusal;
  throw rejected(`A message of this role takes text only, not ${part.type}.`);
}

function userPart(part: ContentPart, provider: Provider): UserPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return imagePart(part.image_url.url, provider);
    case 'input_audio':
      return inline(part.input_audio.data, audioType(part.input_audio.format));
    case 'file':
      break;
  }
  return filePart(part.file);
}

function imagePart(url: string, provider: Provider): LanguageModelV4FilePart {
  const data = readDataUrl(url);
  if (data) return inline(data.base64, data.mediaType);
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw rejected('image_url must be a data: URL or an http(s) address.');
  if (!provider.imageUrls)
    throw rejected('This model cannot fetch images; send the image itself as a data: URL (base64).');
  return { type: 'file', mediaType: imageTypeOf(url), data: { type: 'url', url: new URL(url) } };
}

function filePart(file: { readonly [key: string]: unknown }): LanguageModelV4FilePart {
  const { file_data, filename } = file;
  if (typeof file_data !== 'string')
    throw rejected('A file part needs file_data; files stored elsewhere (file_id) are not known here.');
  const data = readDataUrl(file_data) ?? { base64: file_data, mediaType: 'application/pdf' };
  return { ...inline(data.base64, data.mediaType), ...(typeof filename === 'string' && { filename }) };
}

function inline(base64: string, mediaType: string): LanguageModelV4FilePart {
  return { type: 'file', mediaType, data: { type: 'data', data: base64 } };
}

/** Only base64: no client sends percent-encoded images. */
function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  if (!url.startsWith('data:')) return undefined;
  const comma = url.indexOf(',');
  const head = url.slice(5, comma === -1 ? 0 : comma);
  if (comma === -1 || !head.endsWith(';base64'))
    throw rejected('A data: URL must be base64, like data:image/png;base64,….');
  return { mediaType: head.split(';')[0] || 'application/octet-stream', base64: url.slice(comma + 1) };
}

const IMAGE_TYPES: Record<string, string> = {
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  bmp: 'image/bmp',
};

/** Some backends require the type of a URL that they fetch; only its name tells it. */
function imageTypeOf(url: string): string {
  const extension = /\.([a-z]+)$/i.exec(new URL(url).pathname)?.[1] ?? '';
  return IMAGE_TYPES[extension.toLowerCase()] ?? 'image/jpeg';
}

function audioType(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`;
}
