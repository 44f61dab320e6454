/**
 * Reads server-sent events from bytes as they arrive. A network chunk may end within a line or a character: an
 * incomplete rest is kept for the next push, so the events do not depend on where the stream was split. Each byte is
 * decoded once. After `SseOverflow` the reader must not be used again.
 *
 * Most streams have only LF and many events per chunk, so lines are found by native searches over the new text alone; a
 * line that grows over many pushes is a rope that is flattened once.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #maxEventLength: number;
  /** The incomplete last line. */
  #line = '';
  /** The last push ended with a CR; an LF at the start of the next belongs to it. */
  #afterReturn = false;
  #data: string | undefined;
  #event: string | undefined;
  #id: string | undefined;
  #endedLine = false;

  constructor(maxEventLength: number = MAX_EVENT_LENGTH) {
    this.#maxEventLength = maxEventLength;
  }

  /** The events that these bytes completed, in order. */
  push(bytes: Uint8Array): SseEvent[] {
    if (bytes.length > 0) this.#endedLine = bytes[bytes.length - 1] === LINE_FEED;
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Nothing is buffered: the next byte starts a new event. */
  get isBetweenEvents(): boolean {
    return this.#endedLine && this.#data === undefined && this.#event === undefined && this.#id === undefined;
  }

  /**
   * What was left when the stream ended without a blank line. Some servers end that way, and broken connections do too,
   * so the caller must expect incomplete `data`.
   */
  end(): SseEvent[] {
    const events = this.#read(this.#decoder.decode());
    this.#takeLine('', events);
    this.#dispatch(events);
    return events;
  }

  #read(decoded: string): SseEvent[] {
    const text = this.#withLineFeedsOnly(decoded);
    const events: SseEvent[] = [];
    let start = 0;
    for (;;) {
      const end = text.indexOf('\n', start);
      if (end === -1) break;
      this.#takeLine(start === end ? '' : text.slice(start, end), events);
      start = end + 1;
    }
    if (start < text.length) {
      this.#line += text.slice(start);
      this.#checkLength(this.#line.length);
    }
    return events;
  }

  #withLineFeedsOnly(decoded: string): string {
    let text = decoded;
    if (this.#afterReturn && text.length > 0) {
      this.#afterReturn = false;
      if (text.startsWith('\n')) text = text.slice(1);
    }
    if (!text.includes('\r')) return text;
    this.#afterReturn = text.endsWith('\r');
    return text.replace(/\r\n?/g, '\n');
  }

  #takeLine(rest: string, events: SseEvent[]): void {
    const line = this.#line === '' ? rest : this.#line + rest;
    this.#line = '';
    if (line === '') return this.#dispatch(events);
    this.#takeField(line);
    this.#checkLength(line.length);
  }

  #takeField(line: string): void {
    if (line.startsWith('data:')) {
      const value = valueAfter(line, 5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith('event:')) {
      this.#event = valueAfter(line, 6);
    } else if (line.startsWith('id:')) {
      this.#id = valueAfter(line, 3);
    } else if (line === 'data') {
      this.#data = this.#data === undefined ? '' : `${this.#data}\n`;
    }
    // Everything else is a comment, `retry`, or a field that the format says to ignore.
  }

  #dispatch(events: SseEvent[]): void {
    if (this.#data !== undefined) {
      const event: SseEvent = { data: this.#data };
      if (this.#event) event.event = this.#event;
      if (this.#id !== undefined) event.id = this.#id;
      events.push(event);
    }
    this.#data = undefined;
    this.#event = undefined;
    this.#id = undefined;
  }

  /** The line alone and the data alone, so that the result does not depend on where the stream is split. */
  #checkLength(lineLength: number): void {
    if (lineLength > this.#maxEventLength || (this.#data?.length ?? 0) > this.#maxEventLength) {
      throw new SseOverflow(this.#maxEventLength);
    }
  }
}

export interface SseEvent {
  data: string;
  /** Absent if the stream names none, or an empty one. */
  event?: string;
  /** The id of this event itself; inheriting ids is for browsers that reconnect. */
  id?: string;
}

/** One million characters: far above the largest tool call or image reference seen, far below a runaway backend. */
export const MAX_EVENT_LENGTH = 1_048_576;

/** An event or a line that exceeds the limit. */
export class SseOverflow extends Error {
  constructor(maxEventLength: number) {
    super(`a server-sent event is longer than ${maxEventLength} characters`);
    this.name = 'SseOverflow';
  }
}

/** One event as text. JSON never contains a raw line break; other data is split into several `data:` lines. */
export function encodeEvent(data: string, event?: string): string {
  const lines = data.includes('\n') || data.includes('\r') ? data.split(/\r\n?|\n/).join('\ndata: ') : data;
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}

const LINE_FEED = 10;

/** A keep-alive that every reader skips. */
export const SSE_COMMENT = ': \n\n';

function valueAfter(line: string, colon: number): string {
  return line.slice(line.charCodeAt(colon) === 32 ? colon + 1 : colon);
}
