/**
 * A QR code of one text: byte mode, error correction M, versions 1 to 20 (ISO/IEC 18004). Enough for the address of an
 * authenticator secret, and small enough not to need a package.
 */
export function qrMatrix(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text);
  const version = smallestVersion(bytes.length);
  const codewords = withCorrection(dataCodewords(bytes, version), version);
  let best: { matrix: boolean[][]; penalty: number } | undefined;
  for (let mask = 0; mask < 8; mask++) {
    const matrix = draw(version, codewords, mask);
    const penalty = penaltyOf(matrix);
    if (!best || penalty < best.penalty) best = { matrix, penalty };
  }
  return best?.matrix ?? [];
}

/** Per version, from 1: correction codewords in a block, and blocks. */
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];

function at(list: ArrayLike<number>, index: number): number {
  return list[index] ?? 0;
}

function rawCodewords(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const align = Math.floor(version / 7) + 2;
    modules -= (25 * align - 10) * align - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

function capacity(version: number): number {
  return rawCodewords(version) - at(CORRECTION, version - 1) * at(BLOCKS, version - 1);
}

function lengthBits(version: number): number {
  return version < 10 ? 8 : 16;
}

function smallestVersion(bytes: number): number {
  for (let version = 1; version <= BLOCKS.length; version++) {
    if (4 + lengthBits(version) + bytes * 8 <= capacity(version) * 8) return version;
  }
  throw new RangeError('the text is too long for a QR code');
}

function dataCodewords(bytes: Uint8Array, version: number): number[] {
  const bits: number[] = [];
  const put = (value: number, length: number): void => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, lengthBits(version));
  for (const byte of bytes) put(byte, 8);
  const total = capacity(version) * 8;
  put(0, Math.min(4, total - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < total; pad ^= 0xec ^ 0x11) put(pad, 8);
  return Array.from({ length: bits.length / 8 }, (_, index) =>
    Number.parseInt(bits.slice(index * 8, index * 8 + 8).join(''), 2),
  );
}

/** Splits into blocks, adds Reed–Solomon codewords to each and interleaves them. */
function withCorrection(data: readonly number[], version: number): number[] {
  const blocks = at(BLOCKS, version - 1);
  const correction = at(CORRECTION, version - 1);
  const raw = rawCodewords(version);
  const shortBlocks = blocks - (raw % blocks);
  const shortLength = Math.floor(raw / blocks) - correction;
  const divisor = generator(correction);
  const parts: { data: number[]; check: number[] }[] = [];
  for (let block = 0, start = 0; block < blocks; block++) {
    const length = shortLength + (block < shortBlocks ? 0 : 1);
    const piece = data.slice(start, start + length);
    parts.push({ data: piece, check: remainder(piece, divisor) });
    start += length;
  }
  const result: number[] = [];
  for (let index = 0; index <= shortLength; index++) {
    for (const part of parts) if (index < part.data.length) result.push(at(part.data, index));
  }
  for (let index = 0; index < correction; index++)
    for (const part of parts) result.push(at(part.check, index));
  return result;
}

function generator(degree: number): number[] {
  const result = Array.from<unknown, number>({ length: degree }, (_, index) =>
    index === degree - 1 ? 1 : 0,
  );
  let root = 1;
  for (let round = 0; round < degree; round++) {
    for (let index = 0; index < degree; index++) {
      result[index] = multiply(at(result, index), root) ^ at(result, index + 1);
    }
    root = multiply(root, 2);
  }
  return result;
}

function remainder(data: readonly number[], divisor: readonly number[]): number[] {
  let result = divisor.map(() => 0);
  for (const value of data) {
    const factor = value ^ at(result, 0);
    result = [...result.slice(1), 0].map((left, index) => left ^ multiply(at(divisor, index), factor));
  }
  return result;
}

function multiply(x: number, y: number): number {
  let z = 0;
  for (let bit = 7; bit >= 0; bit--) {
    z = (z << 1) ^ ((z >>> 7) * 0x11d);
    z ^= ((y >>> bit) & 1) * x;
  }
  return z;
}

type Cell = boolean | undefined;

function draw(version: number, codewords: readonly number[], mask: number): boolean[][] {
  const size = version * 4 + 17;
  const cells: Cell[][] = Array.from({ length: size }, () => Array.from<Cell>({ length: size }));
  const set = (x: number, y: number, dark: boolean): void => {
    const row = cells[y];
    if (row && x >= 0 && x < size) row[x] = dark;
  };
  drawTiming(size, set);
  drawFinders(size, set);
  drawAlignment(version, size, cells, set);
  drawFormat(mask, size, set);
  if (version >= 7) drawVersion(version, size, set);
  drawData(codewords, mask, cells);
  return cells.map((row) => row.map((cell) => cell === true));
}

type Set = (x: number, y: number, dark: boolean) => void;

function drawTiming(size: number, set: Set): void {
  for (let index = 0; index < size; index++) {
    set(6, index, index % 2 === 0);
    set(index, 6, index % 2 === 0);
  }
}

function drawFinders(size: number, set: Set): void {
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    for (let dy = -4; dy <= 4; dy++) {
      for (let dx = -4; dx <= 4; dx++) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy));
        const x = cx + dx;
        const y = cy + dy;
        if (x >= 0 && x < size && y >= 0 && y < size) set(x, y, ring !== 2 && ring !== 4);
      }
    }
  }
}

function drawAlignment(version: number, size: number, cells: readonly Cell[][], set: Set): void {
  const centres = alignmentCentres(version, size);
  const last = size - 7;
  for (const cy of centres) {
    for (const cx of centres) {
      const onFinder = (cx === 6 && cy === 6) || (cx === 6 && cy === last) || (cx === last && cy === 6);
      if (onFinder || !cells[cy]) continue;
      for (let dy = -2; dy <= 2; dy++) {
        for (let dx = -2; dx <= 2; dx++) set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
      }
    }
  }
}

function alignmentCentres(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, index) => size - 7 - index * step).toReversed()];
}

function drawFormat(mask: number, size: number, set: Set): void {
  // Level M is 00, so the five data bits are the mask alone.
  let rest = mask;
  for (let round = 0; round < 10; round++) rest = (rest << 1) ^ ((rest >>> 9) * 0x537);
  const bits = ((mask << 10) | rest) ^ 0x5412;
  const bit = (index: number): boolean => ((bits >>> index) & 1) === 1;
  for (let index = 0; index <= 5; index++) set(8, index, bit(index));
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let index = 9; index < 15; index++) set(14 - index, 8, bit(index));
  for (let index = 0; index < 8; index++) set(size - 1 - index, 8, bit(index));
  for (let index = 8; index < 15; index++) set(8, size - 15 + index, bit(index));
  set(8, size - 8, true);
}

function drawVersion(version: number, size: number, set: Set): void {
  let rest = version;
  for (let round = 0; round < 12; round++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25);
  const bits = (version << 12) | rest;
  for (let index = 0; index < 18; index++) {
    const dark = ((bits >>> index) & 1) === 1;
    const far = size - 11 + (index % 3);
    const near = Math.floor(index / 3);
    set(far, near, dark);
    set(near, far, dark);
  }
}

/** Up and down in pairs of columns from the right, skipping what is drawn already. */
function drawData(codewords: readonly number[], mask: number, cells: readonly Cell[][]): void {
  const size = cells.length;
  let index = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step++) {
      const upward = ((right + 1) & 2) === 0;
      const y = upward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        const row = cells[y];
        if (!row || row[x] !== undefined) continue;
        const bit =
          index < codewords.length * 8 && ((at(codewords, index >>> 3) >>> (7 - (index & 7))) & 1) === 1;
        row[x] = bit !== MASKS[mask]?.(x, y);
        index++;
      }
    }
  }
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Long runs, blocks of one colour and imbalance confuse readers; the mask with the fewest of them wins. */
function penaltyOf(matrix: readonly boolean[][]): number {
  const size = matrix.length;
  const cell = (x: number, y: number): boolean => matrix[y]?.[x] === true;
  let penalty = 0;
  let dark = 0;
  for (let line = 0; line < size; line++) {
    penalty += runs(size, (index) => cell(index, line)) + runs(size, (index) => cell(line, index));
    for (let x = 0; x < size; x++) {
      if (cell(x, line)) dark++;
      const same = [cell(x + 1, line), cell(x, line + 1), cell(x + 1, line + 1)].every(
        (other) => other === cell(x, line),
      );
      if (same && x + 1 < size && line + 1 < size) penalty += 3;
    }
  }
  return penalty + Math.floor(Math.abs(dark * 20 - size * size * 10) / (size * size)) * 10;
}

function runs(size: number, cell: (index: number) => boolean): number {
  let penalty = 0;
  let length = 0;
  for (let index = 0; index < size; index++) {
    length = index > 0 && cell(index) === cell(index - 1) ? length + 1 : 1;
    if (length === 5) penalty += 3;
    else if (length > 5) penalty += 1;
  }
  return penalty;
}
