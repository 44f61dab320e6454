import { PdfWriter, pdfText, widthOf, type PdfFont } from './pdf-writer.ts';

/** A4 in points. */
const WIDTH = 595;
const HEIGHT = 842;
const MARGIN = 56;
const FOOT = HEIGHT - MARGIN - 14;
const SIZE = 9;
const LEADING = 13.5;
const BLACK = 0;
const GREY = 0.4;
const LIGHT = 0.75;
/** The right edge of a row's number is this far from that of its amount. */
const AMOUNT_WIDTH = 78;
const LOGO = { width: 150, height: 48 };

interface Frame {
  readonly x: number;
  readonly width: number;
}

const WHOLE: Frame = { x: MARGIN, width: WIDTH - 2 * MARGIN };
const GUTTER = 26;
const HALF = (WHOLE.width - GUTTER) / 2;
const HALVES: readonly Frame[] = [
  { x: MARGIN, width: HALF },
  { x: MARGIN + HALF + GUTTER, width: HALF },
];

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

/** A text, a number and an amount; both are right-aligned below those of the rows above. */
export interface SheetRow {
  readonly text: string;
  readonly count?: string;
  readonly amount: string;
}

interface TableHead extends SheetRow {
  /** Two rows side by side: for many short ones. */
  readonly isPaired?: boolean;
}

interface Letterhead {
  readonly name: string;
  readonly lines: readonly string[];
  readonly logo: Logo | undefined;
}

/** A JPEG with its size in pixels. */
interface Logo {
  readonly jpeg: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Lines from top to bottom on as many pages as they need. */
export class StatementSheet {
  readonly #writer: PdfWriter;
  #page = 0;
  /** The place of the last line, from the top. */
  #y = MARGIN;
  /** Written again at the top of a page that a table continues on. */
  #table: TableHead | undefined;
  #hasMissing = false;

  constructor(info: SheetInfo) {
    this.#writer = new PdfWriter({ ...info, width: WIDTH, height: HEIGHT });
    this.#writer.addPage();
  }

  /** Whether a character was replaced, because the fonts do not have it. */
  get hasMissing(): boolean {
    return this.#hasMissing;
  }

  /** Who sends it: the name and its lines on the left, the logo on the right, a rule below both. */
  letterhead({ name, lines, logo }: Letterhead): void {
    if (logo) {
      const scale = Math.min(LOGO.width / logo.width, LOGO.height / logo.height);
      const [width, height] = [logo.width * scale, logo.height * scale];
      const place = { x: WIDTH - MARGIN - width, y: HEIGHT - MARGIN - height, width, height };
      this.#writer.picture(this.#page, logo, place);
    }
    const frame = logo ? { ...WHOLE, width: WHOLE.width - LOGO.width - GUTTER } : WHOLE;
    this.#next(14);
    this.#write(name, frame, { bold: true, size: 14 });
    for (const line of lines) {
      this.#next();
      this.#write(line, frame, { grey: GREY });
    }
    this.#y = Math.max(this.#y, logo ? MARGIN + LOGO.height : 0) + LEADING;
    this.#rule(WHOLE, GREY);
  }

  line(text: string, style: TextStyle = {}): void {
    this.#next(style.size);
    this.#write(text, WHOLE, style);
  }

  row(row: SheetRow, style: TextStyle = {}): void {
    this.#next();
    this.#cells(row, WHOLE, style);
  }

  /** Down the left column, then down the right one. */
  pairs(rows: readonly SheetRow[]): void {
    const half = Math.ceil(rows.length / 2);
    for (let index = 0; index < half; index++) {
      this.#next();
      for (const [side, frame] of HALVES.entries()) {
        const row = rows[index + side * half];
        if (row) this.#cells(row, frame, {});
      }
    }
  }

  /** Begins a table; on each page that it continues on, its heads are there again with the word `continued`. */
  table(head: TableHead, continued: string): void {
    this.endTable();
    // A heading is not left alone at the foot of a page.
    if (this.#y + 4 * LEADING > FOOT) this.#newPage();
    this.gap();
    this.#head(head);
    this.#table = { ...head, text: `${head.text} (${continued})` };
  }

  endTable(): void {
    this.#table = undefined;
  }

  paragraph(text: string, style: TextStyle = {}): void {
    let line = '';
    for (const word of text.split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`;
      if (measured(pdfText(longer).codes, style) > WHOLE.width) {
        this.line(line, style);
        line = word;
      } else line = longer;
    }
    this.line(line, style);
  }

  gap(): void {
    this.#y += LEADING;
  }

  /** `foot` is written on every page. */
  finish(foot: (page: number, pages: number) => string): Uint8Array<ArrayBuffer> {
    const { pages } = this.#writer;
    for (this.#page = 0; this.#page < pages; this.#page++) {
      this.#y = HEIGHT - MARGIN;
      this.#write(foot(this.#page + 1, pages), WHOLE, { size: 8, grey: GREY });
    }
    return this.#writer.finish();
  }

  #head({ isPaired = false, ...row }: TableHead): void {
    if (isPaired) this.line(row.text, { bold: true });
    this.#next();
    for (const frame of isPaired ? HALVES : [WHOLE])
      this.#cells(isPaired ? { ...row, text: '' } : row, frame, { bold: true });
    this.#y += 5;
    for (const frame of isPaired ? HALVES : [WHOLE]) this.#rule(frame, LIGHT);
  }

  #rule({ x, width }: Frame, grey: number): void {
    this.#writer.line(this.#page, { x, y: HEIGHT - this.#y, width, grey });
  }

  /** In the order in which they are read. */
  #cells({ text, count = '', amount }: SheetRow, { x, width }: Frame, style: TextStyle): void {
    const right = x + width;
    const numbers = [
      { text: count, right: right - AMOUNT_WIDTH },
      { text: amount, right },
    ].flatMap((one) => {
      const wide = measured(pdfText(one.text).codes, style);
      return one.text === '' ? [] : [{ text: one.text, x: one.right - wide, width: wide + 1 }];
    });
    const end = numbers[0]?.x ?? right;
    if (text !== '') this.#write(text, { x, width: end - x - LEADING }, style);
    for (const number of numbers) this.#write(number.text, number, style);
  }

  #next(size = SIZE): void {
    this.#y += Math.max(LEADING, size * 1.5);
    if (this.#y <= FOOT) return;
    this.#newPage();
    if (this.#table) this.#head(this.#table);
    this.#y += LEADING;
  }

  #newPage(): void {
    this.#writer.addPage();
    this.#page++;
    this.#y = MARGIN;
  }

  #write(text: string, { x, width }: Frame, style: TextStyle): void {
    const { codes, hasMissing } = pdfText(text.slice(0, MAX_LENGTH));
    this.#hasMissing ||= hasMissing;
    const { size = SIZE, grey = BLACK } = style;
    const place = { x, y: HEIGHT - this.#y, size, font: fontOf(style), grey };
    this.#writer.text(this.#page, shortened(codes, width, style), place);
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
