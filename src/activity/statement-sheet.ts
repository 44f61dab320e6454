import { PdfWriter, pdfText, widthOf, type PdfFont } from './pdf-writer.ts';

/** A4 in points. */
const WIDTH = 595;
const HEIGHT = 842;
const MARGIN = 56;
const ROOM = WIDTH - 2 * MARGIN;
const FOOT = HEIGHT - MARGIN - 14;
const SIZE = 9;
const LEADING = 14;
const BLACK = 0;
const GREY = 0.4;

interface TextStyle {
  readonly bold?: boolean;
  readonly size?: number;
  readonly grey?: number;
}

interface SheetInfo {
  readonly title: string;
  /** Makes the same statement the same bytes each time. */
  readonly date: Date;
  readonly language: string;
}

/** Lines from top to bottom on as many pages as they need. */
export class StatementSheet {
  readonly #writer: PdfWriter;
  #page = 0;
  /** Of the last line, from the top. */
  #y = MARGIN;
  /** Written again at the top of a page that a table continues on. */
  #table: { readonly title: string; readonly amount: string } | undefined;
  #hasMissing = false;

  constructor(info: SheetInfo) {
    this.#writer = new PdfWriter({ ...info, width: WIDTH, height: HEIGHT });
    this.#writer.addPage();
  }

  /** Whether a character was replaced, because the fonts do not have it. */
  get hasMissing(): boolean {
    return this.#hasMissing;
  }

  line(text: string, style: TextStyle = {}): void {
    this.#next(style.size);
    this.#write(text, { x: MARGIN, room: ROOM }, style);
  }

  /** A text, and an amount at the right edge. */
  row(text: string, amount: string, style: TextStyle = {}): void {
    this.#next();
    const width = measured(pdfText(amount).codes, style);
    this.#write(text, { x: MARGIN, room: ROOM - width - LEADING }, style);
    this.#write(amount, { x: MARGIN + ROOM - width, room: width + 1 }, style);
  }

  /** Begins a table; on each page that it continues on, its heads are there again with the word `continued`. */
  table(title: string, amount: string, continued: string): void {
    this.endTable();
    // A heading is not left alone at the foot of a page.
    if (this.#y + 4 * LEADING > FOOT) this.#newPage();
    this.gap();
    this.#head(title, amount);
    this.#table = { title: `${title} (${continued})`, amount };
  }

  endTable(): void {
    this.#table = undefined;
  }

  paragraph(text: string): void {
    let line = '';
    for (const word of text.split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`;
      if (measured(pdfText(longer).codes, {}) > ROOM) {
        this.line(line);
        line = word;
      } else line = longer;
    }
    this.line(line);
  }

  gap(): void {
    this.#y += LEADING;
  }

  /** `foot` is written on every page. */
  finish(foot: (page: number, pages: number) => string): Uint8Array<ArrayBuffer> {
    const { pages } = this.#writer;
    for (this.#page = 0; this.#page < pages; this.#page++) {
      this.#y = HEIGHT - MARGIN;
      this.#write(foot(this.#page + 1, pages), { x: MARGIN, room: ROOM }, { size: 8, grey: GREY });
    }
    return this.#writer.finish();
  }

  #head(title: string, amount: string): void {
    this.row(title, amount, { bold: true });
    this.#y += 5;
    this.#writer.line(this.#page, { x: MARGIN, y: HEIGHT - this.#y, width: ROOM, grey: GREY });
  }

  #next(size = SIZE): void {
    this.#y += Math.max(LEADING, size * 1.5);
    if (this.#y <= FOOT) return;
    this.#newPage();
    if (this.#table) this.#head(this.#table.title, this.#table.amount);
    this.#y += LEADING;
  }

  #newPage(): void {
    this.#writer.addPage();
    this.#page++;
    this.#y = MARGIN;
  }

  #write(text: string, { x, room }: { readonly x: number; readonly room: number }, style: TextStyle): void {
    const { codes, hasMissing } = pdfText(text.slice(0, MAX_LENGTH));
    this.#hasMissing ||= hasMissing;
    const { size = SIZE, grey = BLACK } = style;
    const place = { x, y: HEIGHT - this.#y, size, font: fontOf(style), grey };
    this.#writer.text(this.#page, shortened(codes, room, style), place);
  }
}

/** Far more than fits into a line. */
const MAX_LENGTH = 300;
const [ELLIPSIS = 0] = pdfText('…').codes;

/** All of it, or as much of its beginning as fits with an ellipsis. */
function shortened(codes: readonly number[], room: number, style: TextStyle): readonly number[] {
  if (measured(codes, style) <= room) return codes;
  let width = measured([ELLIPSIS], style);
  const end = codes.findIndex((code) => (width += measured([code], style)) > room);
  return [...codes.slice(0, end), ELLIPSIS];
}

function measured(codes: readonly number[], style: TextStyle): number {
  return (widthOf(codes, fontOf(style)) * (style.size ?? SIZE)) / 1000;
}

function fontOf({ bold = false }: TextStyle): PdfFont {
  return bold ? 'bold' : 'plain';
}
