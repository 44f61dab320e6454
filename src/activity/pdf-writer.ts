import { deflateSync } from 'node:zlib';

/**
 * How wide the characters of Windows-1252 are in two of the fonts that every reader of PDF has, in thousandths of the size:
 * from the space (32) on. Zero: there is no such character. Source: Adobe's Core 14 AFM files, Helvetica and Helvetica-Bold.
 */
const HELVETICA_WIDTHS = {
  plain: widths(`
  278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278
  584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944
  667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500
  278 556 500 722 500 500 500 334 260 334 584 0 556 0 222 556 333 1000 556 556 333 1000 667 333 1000 0 611 0
  0 222 222 333 333 350 556 1000 333 1000 500 333 944 0 500 500 278 333 556 556 556 556 260 556 333 737 370 556
  584 333 737 333 400 584 333 333 333 556 537 278 333 333 365 556 834 834 834 611 667 667 667 667 667 667 1000 722
  667 667 667 667 278 278 278 278 722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611 556 556 556 556
  556 556 889 500 556 556 556 556 278 278 278 278 556 556 556 556 556 556 556 584 611 556 556 556 556 500 556 500`),
  bold: widths(`
  278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333
  584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944
  667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556
  333 611 556 778 556 556 500 389 280 389 584 0 556 0 278 556 500 1000 556 556 333 1000 667 333 1000 0 611 0
  0 278 278 500 500 350 556 1000 333 1000 556 333 944 0 500 556 278 333 556 556 556 556 280 556 333 737 370 556
  584 333 737 333 400 584 333 333 333 611 556 278 333 333 365 556 834 834 834 611 722 722 722 722 722 722 1000 722
  667 667 667 667 278 278 278 278 722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611 556 556 556 556
  556 556 889 556 556 556 556 556 278 278 278 278 611 611 611 611 611 611 611 584 611 611 611 611 611 556 611 556`),
};

export type PdfFont = keyof typeof HELVETICA_WIDTHS;

interface PdfInfo {
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
interface PdfText {
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

/** A JPEG, which a PDF holds as it is. */
interface PdfPicture {
  readonly jpeg: Buffer;
  /** In its own pixels. */
  readonly width: number;
  readonly height: number;
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
 * A PDF 1.4 file of text, straight lines and at most one picture: a catalog, pages with one compressed stream each, and two of
 * the fonts that a reader has itself, so no font is embedded. The same calls make the same bytes. ISO 32000-1, 7.4.8, 7.5 and 9.6.2.2.
 */
export class PdfWriter {
  readonly #info: PdfInfo;
  readonly #pages: string[][] = [];
  #picture: PdfPicture | undefined;

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

  /** The only one of the file; `x` and `y` are those of its lower left corner, `width` and `height` in points. */
  picture(
    page: number,
    picture: PdfPicture,
    { x, y, width, height }: { x: number; y: number; width: number; height: number },
  ): void {
    this.#picture = picture;
    this.#pages[page]?.push(`q ${fixed(width)} 0 0 ${fixed(height)} ${fixed(x)} ${fixed(y)} cm /P1 Do Q`);
  }

  finish(): Uint8Array<ArrayBuffer> {
    const { width, height, language } = this.#info;
    const picture = this.#picture;
    const firstPage = picture ? 7 : 6;
    const pageIds = this.#pages.map((_, index) => firstPage + 2 * index);
    const font = (name: string): string =>
      `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
    return assemble([
      `<< /Type /Catalog /Pages 2 0 R /Lang (${language}) >>`,
      `<< /Type /Pages /Count ${pageIds.length} /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] >>`,
      font('Helvetica'),
      font('Helvetica-Bold'),
      `<< /Title <feff${utf16Hex(this.#info.title)}> /CreationDate (${pdfDate(this.#info.date)}) >>`,
      ...(picture ? [pictureObject(picture)] : []),
      ...this.#pages.flatMap((lines, index) => [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents ${firstPage + 2 * index + 1} 0 R ` +
          `/Resources << /Font << /F1 3 0 R /F2 4 0 R >>${picture ? ' /XObject << /P1 6 0 R >>' : ''} >> >>`,
        stream(lines.join('\n')),
      ]),
    ]);
  }
}

function stream(text: string): string {
  const body = deflateSync(Buffer.from(text, 'latin1')).toString('latin1');
  return `<< /Length ${body.length} /Filter /FlateDecode >>\nstream\n${body}\nendstream`;
}

function pictureObject({ jpeg, width, height }: PdfPicture): string {
  return (
    `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB ` +
    `/BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n${jpeg.toString('latin1')}\nendstream`
  );
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

function widths(text: string): readonly number[] {
  return text.trim().split(/\s+/).map(Number);
}
