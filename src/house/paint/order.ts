export interface PaintOrder {
  readonly prompt: string;
  /** A style in one of the words that prompts use; it does not change what is painted. */
  readonly style?: string | undefined;
  /** Another seed gives another picture of the same words. */
  readonly seed?: number | undefined;
  /** Words that the picture does not show, even if the prompt names them. */
  readonly avoid?: string | undefined;
  /** Paints with this many times less detail on each side; absent: in full. */
  readonly coarseness?: number | undefined;
  /** The index of this image among the n of a request. */
  readonly index: number;
  readonly width: number;
  readonly height: number;
  /** How much detail is painted; absent: all of it. */
  readonly quality?: PaintQuality | undefined;
  /** Files of pictures that the painting shows. */
  readonly pictures?: readonly Uint8Array[] | undefined;
  /** A file that is transparent where the first picture is painted over. */
  readonly mask?: Uint8Array | undefined;
  readonly background?: Background | undefined;
  /** Of the file; absent: a PNG. */
  readonly format?: PaintFormat | undefined;
  /** Of a JPEG or WebP, 0 to 100. */
  readonly compression?: number | undefined;
}

export type PaintQuality = 'low' | 'medium' | 'high';
type PaintFormat = 'png' | 'jpeg' | 'webp';

/** Behind what is painted. */
export type Background = 'transparent' | 'opaque' | 'auto';
