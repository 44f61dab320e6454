/** Sound and pictures that a chat has shown so far. */
export interface ShownMedia {
  readonly soundBytes: number;
  readonly pictures: number;
}

export const NO_MEDIA: ShownMedia = { soundBytes: 0, pictures: 0 };

/**
 * Of a message or a part of one: `audio.data` (base64, https://platform.openai.com/docs/guides/audio) and `images`
 * (https://openrouter.ai/docs/features/multimodal/image-generation), as those who write this form send them.
 */
export function mediaIn(message: unknown): ShownMedia | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { audio, images } = message as { readonly audio?: unknown; readonly images?: unknown };
  if (audio == null && images == null) return undefined;
  const data = typeof audio === 'object' && audio !== null ? (audio as { data?: unknown }).data : undefined;
  const soundBytes = typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0;
  const pictures = Array.isArray(images) ? images.length : 0;
  return soundBytes + pictures === 0 ? undefined : { soundBytes, pictures };
}

/** Streams of sound are 16-bit samples, 24,000 a second, by the same guide. */
const BYTES_PER_SECOND = 48_000;
/** One for 50 ms: https://platform.openai.com/docs/guides/realtime-costs. */
const TOKENS_PER_SECOND = 20;
/** Of a picture of up to 1024 × 1024 pixels: https://ai.google.dev/gemini-api/docs/pricing (image output). */
const TOKENS_PER_PICTURE = 1_290;

/** What they take, where no report says so. */
export function mediaTokens({ soundBytes, pictures }: ShownMedia): {
  readonly audioOutput: number;
  readonly imageOutput: number;
} {
  return {
    audioOutput: Math.ceil((soundBytes / BYTES_PER_SECOND) * TOKENS_PER_SECOND),
    imageOutput: pictures * TOKENS_PER_PICTURE,
  };
}
