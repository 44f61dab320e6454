import type { Model } from '../../catalog/catalog.ts';
import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ContentPart } from '../../wire/openai/chat.ts';
import { isAbsent } from '../../wire/field-table.ts';
import { pictureSize } from '../../std/picture-size.ts';

/** What the attachments of a request take. */
export interface AttachmentSizes {
  /** The part of the body that is no text. */
  readonly characters: number;
  /** The most that the model may count: held, and charged where nobody has counted. */
  readonly tokens: number;
}

export const NO_ATTACHMENTS: AttachmentSizes = { characters: 0, tokens: 0 };

type Inputs = Pick<Model, 'id' | 'inputs' | 'vision'>;

/** Measures all attachments, or refuses those that the model does not declare. */
export function attachmentSizes({ messages }: ChatRequest, model: Inputs): AttachmentSizes {
  let total = NO_ATTACHMENTS;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) {
      const one = attachmentSize(part, model);
      total = { characters: total.characters + one.characters, tokens: total.tokens + one.tokens };
    }
  }
  return total;
}

function attachmentSize(part: ContentPart, model: Inputs): AttachmentSizes {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return NO_ATTACHMENTS;
    case 'image_url':
      requireBoundedDetail(part.image_url.detail);
      return imageSize(part.image_url.url, model);
    case 'input_audio':
      return audioSize(part.input_audio.data, model);
    case 'file':
      return fileSize(part.file['file_data'], model);
  }
}

/** Any other detail may cost more than the bound of a picture, which is that of `high`. */
function requireBoundedDetail(detail: string | null | undefined): void {
  if (isAbsent(detail) || BOUNDED_DETAILS.has(detail)) return;
  throw refused('The detail of an image must be auto, low or high.');
}

const BOUNDED_DETAILS: ReadonlySet<string> = new Set(['auto', 'low', 'high']);

/**
 * For a model with `vision: true` and no bound of its own: the most that a picture costs anywhere, which is eight tiles
 * of GPT-4o mini (https://developers.openai.com/api/docs/guides/images-vision).
 */
const MOST_IMAGE_TOKENS = 48_169;

function imageSize(url: string, model: Inputs): AttachmentSizes {
  const declared = model.inputs?.image?.maxTokens;
  if (declared === undefined && !model.vision) throw refused(`The model '${model.id}' takes no images.`);
  const data = inlineData(url);
  const share = data === undefined ? 1 : shareOf(data);
  const tokens = Math.ceil((declared ?? MOST_IMAGE_TOKENS) * share);
  return { characters: data === undefined ? 0 : url.length, tokens };
}

/** Enough for the headers of ordinary files; one with more in front of its size counts as the largest. */
const READ_CHARACTERS = 262_144;
const TILE_PIXELS = 512;
const MOST_TILES = 8;
/** Anthropic scales larger pictures down to about this. */
const MOST_PIXELS = 1_150_000;

/**
 * How much of the largest picture's tokens this one takes at most. Models count tiles of 512 pixels and one for the
 * whole (OpenAI), or pixels (Anthropic): the larger of the two counts.
 */
function shareOf(data: string): number {
  const size = pictureSize(Buffer.from(data.slice(0, READ_CHARACTERS), 'base64'));
  if (!size) return 1;
  const tiles = Math.ceil(size.width / TILE_PIXELS) * Math.ceil(size.height / TILE_PIXELS);
  const byTiles = (tiles + 1) / (MOST_TILES + 1);
  return Math.min(1, Math.max(byTiles, (size.width * size.height) / MOST_PIXELS));
}

/** The lowest bit rate of MP3, 8 kbit/s: nothing that is sent as sound is longer for its bytes. */
const FEWEST_BYTES_PER_SECOND = 1_000;
const BASE64_CHARACTERS_PER_BYTE = 4 / 3;

function audioSize(data: string, model: Inputs): AttachmentSizes {
  const declared = model.inputs?.audio;
  if (!declared) throw refused(`The model '${model.id}' takes no sound.`);
  const bytes = data.length / BASE64_CHARACTERS_PER_BYTE;
  const perSecond = wavBytesPerSecond(data) ?? FEWEST_BYTES_PER_SECOND;
  const tokens = Math.ceil((bytes / perSecond) * declared.tokensPerSecond);
  return { characters: data.length, tokens };
}

const WAV_HEADER_CHARACTERS = 44;

/** A WAV file says it in its header, which is in its first 32 bytes. */
function wavBytesPerSecond(data: string): number | undefined {
  const header = Buffer.from(data.slice(0, WAV_HEADER_CHARACTERS), 'base64');
  const isWav = header.length >= 32 && header.toString('latin1', 0, 4) === 'RIFF';
  if (!isWav || header.toString('latin1', 8, 16) !== 'WAVEfmt ') return undefined;
  const declared = header.readUInt32LE(28);
  return declared >= FEWEST_BYTES_PER_SECOND ? declared : undefined;
}

/** Inline or by address: what is in it is not known before the backend has read it. */
function fileSize(data: unknown, model: Inputs): AttachmentSizes {
  const declared = model.inputs?.file?.maxTokens;
  if (declared === undefined) throw refused(`The model '${model.id}' takes no files.`);
  const characters = typeof data === 'string' && isInline(data) ? data.length : 0;
  return { characters, tokens: declared };
}

function isInline(data: string): boolean {
  return !/^https?:/i.test(data);
}

function inlineData(url: string): string | undefined {
  return url.startsWith('data:') ? url.slice(url.indexOf(',') + 1) : undefined;
}

function refused(message: string): Fault {
  return new Fault('invalid_field', message, { param: 'messages' });
}
