import { ROWS, TOKEN_ROWS } from '../../src/std/price-dimensions.ts';

/** One line of the backend's invoice: what one request used, whether or not anybody read it. */
export interface InvoiceLine {
  readonly plan: number;
  readonly backend: string;
  /** By the name of the price that applies. */
  readonly tokens: Readonly<Partial<Record<TokenKind, number>>>;
  /** All input, for prices that depend on its length. */
  readonly contextTokens: number;
  /** What is billed by its number, by the name of its price. */
  readonly counts: Readonly<Record<string, number>>;
  readonly images: readonly { readonly size: string; readonly quality: string; readonly count: number }[];
  readonly serviceTier: string;
  readonly end: 'finished' | 'socket closed' | 'failed';
}

/** The catalog's keys of all prices of tokens. */
export type TokenKind = (typeof TOKEN_ROWS)[number]['key'];

/** The line of a request that is still being worked on. */
export class OpenLine {
  readonly tokens: Partial<Record<TokenKind, number>> = {};
  readonly counts: Record<string, number> = {};
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

  /** Whatever has a row in the table of dimensions. */
  use(key: string, count: number): void {
    const token = TOKEN_ROWS.find((row) => row.key === key);
    if (token) this.add(token.key, count);
    else this.counts[key] = (this.counts[key] ?? 0) + count;
  }

  used(key: string): number {
    return TOKEN_ROWS.some((row) => row.key === key) ? this.of(key as TokenKind) : (this.counts[key] ?? 0);
  }

  get input(): number {
    return this.#side('input');
  }

  get output(): number {
    return this.#side('output');
  }

  /** Usage as servers of OpenAI's form report it: each kind at the place that the table of dimensions names. */
  reportedParts(): Record<string, Record<string, number>> {
    const parts: Record<string, Record<string, number>> = {};
    for (const { key, reportedIn } of ROWS) {
      if (!reportedIn || this.used(key) === 0) continue;
      const [details, name] = reportedIn;
      parts[details] = { ...parts[details], [name]: this.used(key) };
    }
    return parts;
  }

  #side(side: 'input' | 'output'): number {
    return TOKEN_ROWS.reduce((sum, row) => sum + (row.side === side ? this.of(row.key) : 0), 0);
  }

  closed(end: InvoiceLine['end']): InvoiceLine {
    const { plan, backend, images, serviceTier } = this;
    return {
      plan,
      backend,
      tokens: { ...this.tokens },
      contextTokens: this.input,
      counts: { ...this.counts },
      images,
      serviceTier,
      end,
    };
  }
}
