import { deflateSync } from 'node:zlib';
import { HELVETICA_WIDTHS } from './helvetica.ts';

export type PdfFont = keyof typeof HELVETICA_WIDTHS;

export interface PdfInfo {
  readonly title: string;
  readonly date: Date;
  readonly language: string;
  /** In points. */
  readonly width: number;
  readonly height: number;
}

const FIRST = 32;
/** A character that the fonts do not have; not one of any text. */
const MISSING = '\uffff';
const SUBSTITUTE = '?'.charCodeAt(0);
/** Letters that no decomposition turns into one that can be written. */
const ALIKE: Readonly<Record<string, string>> = { Ł: 'L', ł: 'l', Đ: 'D', đ: 'd', ı: 'i', '\t': ' ' };
const CODES = new Map(
  HELVETICA_WIDTHS.plain.flatMap((width, index) => {
    const code = index + FIRST;
    return width === 0
      ? []
      : [[new TextDecoder('windows-1252').decode(new Uint8Array([code])), code] as const];
  }),
);

/** Text as bytes of the fonts' encoding; `hasMissing`: a character was replaced. */
export interface PdfText {
  readonly codes: readonly number[];
  readonly hasMissing: boolean;
}

/** A letter without its marks is better than none: Ş → S. */
export function pdfText(text: string): PdfText {
  let hasMissing = false;
  const codes = Array.from(text.normalize('NFC'), (character) => {
    const [base = MISSING] = character.normalize('NFKD');
    const code = CODES.get(character) ?? CODES.get(ALIKE[character] ?? base);
    hasMissing ||= code === undefined;
    return code ?? SUBSTITUTE;
  });
  return { codes, hasMissing };
}

/** In thousandths of the font's size. */
export function widthOf(codes: readonly number[], font: PdfFont): number {
  const widths = HELVETICA_WIDTHS[font];
  return codes.reduce((sum, code) => sum + (widths[code - FIRST] ?? 0), 0);
}

interface Placed {
  readonly x: number;
  /** From the foot of the page. */
  readonly y: number;
  readonly size: number;
  readonly font: PdfFont;
  /** From 0, black, to 1. */
  readonly grey: number;
}

const FONT_NAMES: Readonly<Record<PdfFont, string>> = { plain: 'F1', bold: 'F2' };

/**
 * A PDF 1.4 file of text and straight lines: a catalog, pages with one compressed stream each, and two of the fonts that a
 * reader has itself, so nothing is embedded. The same calls make the same bytes. ISO 32000-1, 7.5 and 9.6.2.2.
 */
export class PdfWriter {
  readonly #info: PdfInfo;
  readonly #pages: string[][] = [];

  constructor(info: PdfInfo) {
    this.#info = info;
  }

  get pages(): number {
    return this.#pages.length;
  }

  addPage(): void {
    this.#pages.push([]);
  }

  text(page: number, codes: readonly number[], { x, y, size, font, grey }: Placed): void {
    const hex = Buffer.from(codes).toString('hex');
    this.#pages[page]?.push(
      `BT ${grey} g /${FONT_NAMES[font]} ${size} Tf ${fixed(x)} ${fixed(y)} Td <${hex}> Tj ET`,
    );
  }

  line(page: number, { x, y, width, grey }: { x: number; y: number; width: number; grey: number }): void {
    this.#pages[page]?.push(`${grey} G 0.5 w ${fixed(x)} ${fixed(y)} m ${fixed(x + width)} ${fixed(y)} l S`);
  }

  finish(): Uint8Array<ArrayBuffer> {
    const { width, height, language } = this.#info;
    const firstPage = 6;
    const pageIds = this.#pages.map((_, index) => firstPage + 2 * index);
    const font = (name: string): string =>
      `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
    return assemble([
      `<< /Type /Catalog /Pages 2 0 R /Lang (${language}) >>`,
      `<< /Type /Pages /Count ${pageIds.length} /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] >>`,
      font('Helvetica'),
      font('Helvetica-Bold'),
      `<< /Title <feff${utf16Hex(this.#info.title)}> /CreationDate (${pdfDate(this.#info.date)}) >>`,
      ...this.#pages.flatMap((lines, index) => [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents ${firstPage + 2 * index + 1} 0 R ` +
          `/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>`,
        stream(lines.join('\n')),
      ]),
    ]);
  }
}

function stream(text: string): string {
  const body = deflateSync(Buffer.from(text, 'latin1')).toString('latin1');
  return `<< /Length ${body.length} /Filter /FlateDecode >>\nstream\n${body}\nendstream`;
}

/** Numbers the objects from 1, and lists at the end where each begins. */
function assemble(objects: readonly string[]): Uint8Array<ArrayBuffer> {
  let file = '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n';
  const offsets: string[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(`${String(file.length).padStart(10, '0')} 00000 n \n`);
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return new Uint8Array(Buffer.from(file + table + trailer, 'latin1'));
}

function fixed(value: number): string {
  return value.toFixed(2);
}

function utf16Hex(text: string): string {
  return Buffer.from(text, 'utf16le').swap16().toString('hex');
}

function pdfDate(date: Date): string {
  return `D:${date
    .toISOString()
    .replaceAll(/[^0-9]/g, '')
    .slice(0, 14)}Z`;
}
