/** Text that is markup already; everything else is escaped where it is put into a page. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Markup | string | number | undefined | readonly Piece[];

/** Markup with values in it. A value is text, whatever it looks like, unless it is markup made by this function. */
export function html(literal: TemplateStringsArray, ...values: readonly Piece[]): Markup {
  return new Markup(literal.map((part, place) => part + textOf(values[place])).join(''));
}

function textOf(piece: Piece): string {
  if (piece === undefined) return '';
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === 'object') return piece.map(textOf).join('');
  return escaped(String(piece));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For the text of an element, for an attribute in either quotes, and for XML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/** JSON within a script element that no browser runs: nothing in it can end the element. */
export function dataBlock(type: string, value: unknown): Markup {
  const text = JSON.stringify(value).replaceAll('<', '\\u003c');
  return new Markup(`<script type="${escaped(type)}">${text}</script>`);
}
