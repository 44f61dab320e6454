import type { Clock } from '../../std/clock.ts';
import { compressedJson } from '../answers.ts';
import { escaped } from './html.ts';

type ContentEncoding = Parameters<typeof compressedJson>[1];

/** A document that anybody may read: `body` and what it is. */
export interface PublicDocument {
  readonly body: string;
  readonly type: 'text/html' | 'text/plain' | 'application/json' | 'application/xml';
  readonly status?: number;
}

/** What a document is drawn from. While it is the same, a document that was drawn is good for `keptMs`. */
interface DrawnFrom {
  readonly inputs: readonly unknown[];
  readonly keptMs: number;
}

interface Kept extends DrawnFrom {
  readonly until: number;
  readonly drawn: Promise<DrawnDocument>;
  /** Known once it is drawn. */
  characters: number;
}

/** For all kept documents together, with every form in which they are sent. */
const MOST_CHARACTERS = 32_000_000;

/**
 * Keeps documents for a short time: drawing one takes milliseconds of the thread that serves requests, and anybody may ask
 * for one as often as they like. Those who ask at the same time share one drawing.
 */
export class DrawnDocuments {
  readonly #clock: Clock;
  readonly #mostCharacters: number;
  /** The documents by name, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  #characters = 0;

  constructor(clock: Clock, mostCharacters = MOST_CHARACTERS) {
    this.#clock = clock;
    this.#mostCharacters = mostCharacters;
  }

  /** How much is kept. */
  get characters(): number {
    return this.#characters;
  }

  async of(name: string, from: DrawnFrom, draw: () => Promise<PublicDocument>): Promise<DrawnDocument> {
    const now = this.#clock.now();
    const known = this.#kept.get(name);
    if (known && now < known.until && isSame(known.inputs, from.inputs)) return await known.drawn;
    this.#forget(name);
    const kept: Kept = {
      ...from,
      until: now + from.keptMs,
      drawn: draw().then((document) => new DrawnDocument(document)),
      characters: 0,
    };
    this.#kept.set(name, kept);
    try {
      const drawn = await kept.drawn;
      if (this.#kept.get(name) === kept) this.#count(kept, drawn);
      return drawn;
    } catch (error) {
      if (this.#kept.get(name) === kept) this.#forget(name);
      throw error;
    }
  }

  #count(kept: Kept, { mostCharacters }: DrawnDocument): void {
    kept.characters = mostCharacters;
    this.#characters += mostCharacters;
    for (const name of this.#kept.keys()) {
      if (this.#characters <= this.#mostCharacters) return;
      this.#forget(name);
    }
  }

  #forget(name: string): void {
    this.#characters -= this.#kept.get(name)?.characters ?? 0;
    this.#kept.delete(name);
  }
}

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, place) => Object.is(one, others[place]));
}

/**
 * Stands for the address of this server while a document is drawn. Where no address is configured it is the one that the
 * client names, so that every client could ask for a drawing of its own.
 */
export const ANY_ORIGIN = `https://${crypto.randomUUID()}.invalid`;

/** The addresses for which a document is kept as it is sent; for others it is made for each request, not compressed. */
const MOST_ORIGINS = 4;

/** A document with {@link ANY_ORIGIN} in it. */
export class DrawnDocument {
  readonly document: PublicDocument;
  /** The text between the occurrences of the server's address. */
  readonly #parts: readonly Buffer[];
  readonly #tag: string;
  readonly #sent = new Map<string, SentDocument>();

  constructor(document: PublicDocument) {
    this.document = document;
    this.#parts = document.body.split(ANY_ORIGIN).map((part) => Buffer.from(part));
    this.#tag = Bun.hash(document.body).toString(36);
  }

  /** Counts every form in which it may be sent: as it is, and compressed in two ways. */
  get mostCharacters(): number {
    return this.document.body.length * (2 + MOST_ORIGINS * 3);
  }

  at(origin: string): SentDocument {
    const known = this.#sent.get(origin);
    if (known) return known;
    const isKept = this.#sent.size < MOST_ORIGINS;
    const tag = `W/"${this.#tag}-${Bun.hash(origin).toString(36)}"`;
    const sent = new SentDocument({ bytes: this.#bytesAt(origin), tag, isCompressed: isKept });
    if (isKept) this.#sent.set(origin, sent);
    return sent;
  }

  #bytesAt(origin: string): Buffer<ArrayBuffer> {
    const isMarkup = this.document.type === 'text/html' || this.document.type === 'application/xml';
    const address = Buffer.from(isMarkup ? escaped(origin) : origin);
    return Buffer.concat(this.#parts.flatMap((part, place) => (place === 0 ? [part] : [address, part])));
  }
}

/** A document as the clients of one address get it. */
class SentDocument {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly tag: string;
  readonly #isCompressed: boolean;
  readonly #compressed = new Map<ContentEncoding, ReturnType<typeof compressedJson>>();

  constructor(sent: {
    readonly bytes: Buffer<ArrayBuffer>;
    readonly tag: string;
    readonly isCompressed: boolean;
  }) {
    this.bytes = sent.bytes;
    this.tag = sent.tag;
    this.#isCompressed = sent.isCompressed;
  }

  /** `undefined`: it is sent as it is. */
  compressed(encoding: ContentEncoding): ReturnType<typeof compressedJson> {
    if (!this.#isCompressed) return Promise.resolve(undefined);
    const known = this.#compressed.get(encoding) ?? compressedJson(this.bytes.toString(), encoding);
    this.#compressed.set(encoding, known);
    return known;
  }
}
