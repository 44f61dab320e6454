/** How a server that speaks OpenAI's API takes requests for images, where that is not OpenAI's way. */
export interface ImageDialect {
  /** `dimensions`: as `width` and `height`; `aspect_ratio`: the nearest of its list. */
  readonly size: 'dimensions' | 'aspect_ratio';
  readonly ratios?: readonly `${number}:${number}`[];
  /** Its name of an answer without links, in `response_format`. */
  readonly inline: string;
  /** How pictures to start from are sent: as objects to `/images/edits`, or as addresses to `/images/generations`. */
  readonly edits: 'objects' | 'addresses';
  /** The values of `output_format` that it has; what it has not is made from what it sends. */
  readonly outputFormats: readonly string[];
  /** What else of a client's request it takes; other fields are refused. */
  readonly fields: readonly string[];
}
