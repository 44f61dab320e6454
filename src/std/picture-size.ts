/** Width and height of a picture by its first bytes; `undefined` for formats that are not read. */
interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** PNG, GIF, WebP and JPEG, by their specifications. Damaged files are as unknown as other formats. */
export function pictureSize(bytes: Buffer): PictureSize | undefined {
  try {
    const size = readPng(bytes) ?? readGif(bytes) ?? readWebp(bytes) ?? readJpeg(bytes);
    return size && size.width > 0 && size.height > 0 ? { width: size.width, height: size.height } : undefined;
  } catch {
    // It ended before its header did.
    return undefined;
  }
}

/** The number of colour components of a JPEG; three are those of a screen. */
export function jpegColours(bytes: Buffer): number | undefined {
  try {
    return readJpeg(bytes)?.colours;
  } catch {
    // As above.
    return undefined;
  }
}

function readPng(bytes: Buffer): PictureSize | undefined {
  if (bytes.toString('latin1', 1, 4) !== 'PNG' || bytes.toString('latin1', 12, 16) !== 'IHDR')
    return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function readGif(bytes: Buffer): PictureSize | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'GIF8') return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

function readWebp(bytes: Buffer): PictureSize | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** A frame header is the segment with a mark from C0 to CF, except for those of tables and arithmetic coding. */
function readJpeg(bytes: Buffer): (PictureSize & { readonly colours: number }) | undefined {
  if (bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at < bytes.length;) {
    if (bytes.readUInt8(at) !== 0xff) return undefined;
    const mark = bytes.readUInt8(at + 1);
    if (mark === 0xff) at++;
    else if (mark >= 0xc0 && mark <= 0xcf && mark !== 0xc4 && mark !== 0xc8 && mark !== 0xcc)
      return {
        width: bytes.readUInt16BE(at + 7),
        height: bytes.readUInt16BE(at + 5),
        colours: bytes.readUInt8(at + 9),
      };
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}
