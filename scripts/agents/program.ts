/** Programs of others: each in a process group of its own, with a time limit, and gone afterwards with all its children. */
export interface Finished {
  readonly exitCode: number;
  readonly output: string;
  readonly timedOut: boolean;
}

export interface Program {
  readonly command: readonly string[];
  readonly folder: string;
  readonly environment: Record<string, string>;
  readonly timeoutMs: number;
}

const MOST_OUTPUT = 200_000;

export async function runProgram({ command, folder, environment, timeoutMs }: Program): Promise<Finished> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: environment,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true,
  });
  const endGroup = (): void => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nobody is left in the group, which is the usual end.
    }
  };
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    endGroup();
  }, timeoutMs);
  try {
    const [out, err, exitCode] = await Promise.all([
      firstWords(child.stdout),
      firstWords(child.stderr),
      child.exited,
    ]);
    return { exitCode, output: plain(`${err}\n${out}`), timedOut };
  } finally {
    clearTimeout(timer);
    endGroup();
  }
}

/** All is read, so that the program is not held up, but only so much is kept. */
async function firstWords(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of stream)
    if (text.length < MOST_OUTPUT) text += decoder.decode(part, { stream: true });
  return text;
}

/** Without the colours of a terminal. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the escape character is what is looked for
  return text.replace(/\u001B\[[0-9;]*m/g, '').trim();
}
