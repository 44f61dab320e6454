/** One line of the backend's invoice: what one request used, whether or not anybody read it. */
export interface InvoiceLine {
  readonly plan: number;
  readonly backend: string;
  /** By the name of the price that applies. */
  readonly tokens: Readonly<Partial<Record<TokenKind, number>>>;
  /** All input, for prices that depend on its length. */
  readonly contextTokens: number;
  readonly searches: number;
  readonly images: readonly { readonly size: string; readonly quality: string; readonly count: number }[];
  readonly serviceTier: string;
  readonly end: 'finished' | 'socket closed' | 'failed';
}

export type TokenKind =
  | 'input'
  | 'cached_input'
  | 'cache_write'
  | 'cache_write_1h'
  | 'output'
  | 'reasoning'
  | 'audio_input'
  | 'audio_output'
  | 'image_input'
  | 'image_output';

/** The line of a request that is still being worked on. */
export class OpenLine {
  readonly tokens: Partial<Record<TokenKind, number>> = {};
  searches = 0;
  images: { size: string; quality: string; count: number }[] = [];
  serviceTier = 'default';
  readonly plan: number;
  readonly backend: string;

  constructor(plan: number, backend: string) {
    this.plan = plan;
    this.backend = backend;
  }

  add(kind: TokenKind, count: number): void {
    this.tokens[kind] = this.of(kind) + count;
  }

  of(kind: TokenKind): number {
    return this.tokens[kind] ?? 0;
  }

  get input(): number {
    const kinds = [
      'input',
      'cached_input',
      'cache_write',
      'cache_write_1h',
      'audio_input',
      'image_input',
    ] as const;
    return kinds.reduce((sum, kind) => sum + this.of(kind), 0);
  }

  get output(): number {
    return (['output', 'reasoning', 'audio_output'] as const).reduce((sum, kind) => sum + this.of(kind), 0);
  }

  closed(end: InvoiceLine['end']): InvoiceLine {
    const { plan, backend, searches, images, serviceTier } = this;
    return {
      plan,
      backend,
      tokens: { ...this.tokens },
      contextTokens: this.input,
      searches,
      images,
      serviceTier,
      end,
    };
  }
}
