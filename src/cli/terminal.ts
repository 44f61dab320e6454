import { CommandRefused, UsageError, type PasswordInput } from './command.ts';

const MAX_BYTES = 4_096;
const INTERRUPT = '\u0003';
const END_OF_INPUT = '\u0004';
const BACKSPACES = new Set(['\u007f', '\b']);

/** Reads passwords from standard input: what a program writes there, or what somebody types, which is not shown. */
export class StandardInput implements PasswordInput {
  readonly #stdin = process.stdin;
  readonly #decoder = new TextDecoder();
  /** Typed or pasted ahead of the question. */
  #ahead = '';

  get isTerminal(): boolean {
    return this.#stdin.isTTY;
  }

  async readLine(): Promise<string> {
    let text = '';
    for await (const bytes of this.#stdin as AsyncIterable<Buffer>) {
      text += this.#decoder.decode(bytes, { stream: true });
      if (text.length > MAX_BYTES) throw new UsageError('Standard input is too long for a password.');
      if (text.includes('\n')) break;
    }
    return text.split('\n', 1)[0]?.replace(/\r$/, '') ?? '';
  }

  async ask(question: string): Promise<string> {
    // First of all, or what is typed at once would be shown.
    this.#stdin.setRawMode(true);
    process.stderr.write(question);
    try {
      return await this.#typedLine();
    } finally {
      this.#stdin.setRawMode(false);
      this.#stdin.pause();
      process.stderr.write('\n');
    }
  }

  async #typedLine(): Promise<string> {
    const typed: string[] = [];
    for (;;) {
      while (this.#ahead !== '') {
        const [key = ''] = this.#ahead;
        this.#ahead = this.#ahead.slice(key.length);
        if (key === INTERRUPT) throw new CommandRefused('Interrupted; nothing was changed.');
        if (key === '\r' || key === '\n' || key === END_OF_INPUT) return typed.join('');
        if (BACKSPACES.has(key)) typed.pop();
        else if (key >= ' ' && typed.length < MAX_BYTES) typed.push(key);
      }
      this.#ahead = this.#decoder.decode(await this.#nextBytes(), { stream: true });
    }
  }

  async #nextBytes(): Promise<Buffer> {
    this.#stdin.resume();
    return await new Promise((resolve, reject) => {
      const stop = (): void => {
        this.#stdin.off('data', onData);
        this.#stdin.off('end', onEnd);
      };
      const onData = (bytes: Buffer): void => {
        stop();
        resolve(bytes);
      };
      const onEnd = (): void => {
        stop();
        reject(new CommandRefused('The terminal was closed; nothing was changed.'));
      };
      this.#stdin.on('data', onData);
      this.#stdin.on('end', onEnd);
    });
  }
}
