/** Reads HTTP/1.1 responses from the bytes of one connection, one after the other, without keeping their bodies. */
export class ResponseReader {
  status = 0;
  /** Server-sent events seen in the body of the current response. */
  events = 0;
  bodyBytes = 0;
  /** The server will close the connection after this response. */
  closes = false;
  #head = '';
  #state: 'head' | 'length' | 'size' | 'chunk' | 'chunk end' | 'trailer' = 'head';
  #left = 0;
  #line = '';
  #lastByte = 0;

  /** True when the response is complete. What follows it in the same bytes would be an answer nobody asked for. */
  push(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length;) {
      switch (this.#state) {
        case 'head': {
          at = this.#readHead(bytes, at);
          if (this.#isEmpty) return this.#finish();
          break;
        }
        case 'length': {
          at = this.#readBody(bytes, at);
          if (this.#left === 0) return this.#finish();
          break;
        }
        case 'size': {
          at = this.#readLine(bytes, at, (line) => {
            this.#left = Number.parseInt(line, 16);
            this.#state = this.#left === 0 ? 'trailer' : 'chunk';
          });
          break;
        }
        case 'chunk': {
          at = this.#readBody(bytes, at);
          if (this.#left === 0) this.#state = 'chunk end';
          break;
        }
        case 'chunk end': {
          at = this.#readLine(bytes, at, () => (this.#state = 'size'));
          break;
        }
        case 'trailer': {
          let done = false;
          at = this.#readLine(bytes, at, (line) => (done = line === ''));
          if (done) return this.#finish();
          break;
        }
      }
    }
    return false;
  }

  /** Before the next request of the connection. */
  begin(): void {
    this.status = 0;
    this.events = 0;
    this.bodyBytes = 0;
    this.#lastByte = 0;
  }

  get #isEmpty(): boolean {
    return this.#state === 'length' && this.#left === 0;
  }

  #finish(): true {
    this.#state = 'head';
    return true;
  }

  #readHead(bytes: Uint8Array, start: number): number {
    const before = this.#head.length;
    this.#head += Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.length - start).toString(
      'latin1',
    );
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) return bytes.length;
    const head = this.#head.slice(0, end + 2);
    this.#head = '';
    this.status = Number(head.slice(9, 12));
    this.closes = /\r\nconnection: *close\r\n/i.test(head);
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
    this.#state = length === undefined ? 'size' : 'length';
    this.#left = Number(length ?? 0);
    return start + end + 4 - before;
  }

  #readBody(bytes: Uint8Array, start: number): number {
    const end = Math.min(bytes.length, start + this.#left);
    this.#left -= end - start;
    this.bodyBytes += end - start;
    for (
      let at = bytes.indexOf(LINE_FEED, start);
      at !== -1 && at < end;
      at = bytes.indexOf(LINE_FEED, at + 1)
    ) {
      if ((at === start ? this.#lastByte : bytes[at - 1]) === LINE_FEED) this.events++;
    }
    this.#lastByte = bytes[end - 1] ?? 0;
    return end;
  }

  #readLine(bytes: Uint8Array, start: number, take: (line: string) => void): number {
    const end = bytes.indexOf(LINE_FEED, start);
    const stop = end === -1 ? bytes.length : end;
    this.#line += Buffer.from(bytes.buffer, bytes.byteOffset + start, stop - start).toString('latin1');
    if (end === -1) return bytes.length;
    const line = this.#line.replace(/\r$/, '');
    this.#line = '';
    take(line);
    return end + 1;
  }
}

const LINE_FEED = 10;
