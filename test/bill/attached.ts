import type { Content } from './classes.ts';
import type { Attachment } from './plan.ts';
import type { Random } from './random.ts';

/** Requests about pictures, and files where the model takes them; the backend bills what the plan says. */
export function pictureAndFile(random: Random, models: readonly string[]): Content {
  const model = random.pick(models);
  const takesFiles = model.endsWith('seer');
  const file = { kind: 'file', tokens: random.integer(100, 40_000), data: DOCUMENT } as const;
  const attachments: Attachment[] = [pictureFor(model, random)];
  if (takesFiles && random.next() < 0.5) attachments.push(file);
  return { model, ask: { attachments } };
}

const DOCUMENT = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');
/** In 16 bits at 24 kHz. */
export const TEN_SECONDS = Buffer.alloc(480_000).toString('base64');
const ADDRESS = 'https://example.com/picture.png';
/** Up to this size OpenAI does not scale a picture down. */
const MOST_PIXELS_A_SIDE = 768;

/** Inline or by address. */
export function pictureFor(model: string, random: Random): Attachment {
  const [width, height] = [random.integer(1, MOST_PIXELS_A_SIDE), random.integer(1, MOST_PIXELS_A_SIDE)];
  const data = random.next() < 0.3 ? ADDRESS : png(width, height);
  return { kind: 'image', data, tokens: tokensOfPicture(model, width, height) };
}

/**
 * Of Claude: pixels ÷ 750 (https://platform.claude.com/docs/en/build-with-claude/vision). Of GPT-4o: 85, and 170 for each tile
 * of 512 pixels (https://developers.openai.com/api/docs/guides/images-vision).
 */
function tokensOfPicture(model: string, width: number, height: number): number {
  if (model.startsWith('claude')) return Math.ceil((width * height) / 750);
  return 85 + 170 * Math.ceil(width / 512) * Math.ceil(height / 512);
}

/** The start of a PNG file, which has its size. */
function png(width: number, height: number): string {
  const header = Buffer.from('89504e470d0a1a0a0000000d4948445200000000000000000806000000', 'hex');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return header.toString('base64');
}
