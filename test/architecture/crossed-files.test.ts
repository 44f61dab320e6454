import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Files from socket to settlement, without `std`. Lower these when the path gets shorter; never raise them. */
const MOST_WHOLE = 27;
const MOST_STREAMED = 30;
/** The operation itself, and what it has in common with the others. */
const MOST_OF_API = 2;
const TIMEOUT_MS = 120_000;

test(
  `a small chat crosses at most ${MOST_WHOLE} files`,
  async () => {
    const files = await crossed('0');
    expect(files.length).toBeWithin(10, MOST_WHOLE + 1);
    expect(operationFiles(files).length).toBeWithin(1, MOST_OF_API + 1);
  },
  TIMEOUT_MS,
);

test(
  `a small streamed chat crosses at most ${MOST_STREAMED} files`,
  async () => {
    const files = await crossed('1');
    expect(files.length).toBeWithin(10, MOST_STREAMED + 1);
    expect(operationFiles(files).length).toBeWithin(1, MOST_OF_API + 1);
  },
  TIMEOUT_MS,
);

function operationFiles(files: readonly string[]): string[] {
  return files.filter((file) => file.startsWith('src/api/'));
}

/** So many that a timer which happens to run once more during them does not count as part of each. */
const FURTHER_CHATS = 20;

/** Files of which every further chat runs lines again: starting, stopping and what timers do are in both runs. */
async function crossed(streamed: '0' | '1'): Promise<string[]> {
  const { lines: more, tookMs } = await coverage(1 + FURTHER_CHATS, streamed);
  const { lines: one } = await coverage(1, streamed, tookMs);
  const files = [...more].filter(([file, lines]) =>
    [...lines].some(([line, count]) => count >= (one.get(file)?.get(line) ?? 0) + FURTHER_CHATS),
  );
  const names = files.map(([file]) => file).filter((file) => /^src\/(?!std\/)/.test(file));
  if (process.env['SHOW_FILES']) console.log(names.toSorted().join('\n'));
  return names;
}

interface Coverage {
  /** How often each line of each file was run. */
  readonly lines: Map<string, Map<number, number>>;
  readonly tookMs: number;
}

async function coverage(chats: number, streamed: string, atLeastMs = 0): Promise<Coverage> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-coverage-'));
  try {
    const child = Bun.spawn(
      [
        process.execPath,
        'test',
        '--coverage',
        '--coverage-reporter=lcov',
        `--coverage-dir=${folder}`,
        './test/architecture/crossed-files.ts',
      ],
      {
        cwd: resolve(import.meta.dir, '../..'),
        env: {
          ...process.env,
          CHATS: String(chats),
          STREAMED: streamed,
          AT_LEAST_MS: String(atLeastMs),
          TOOK_FILE: join(folder, 'took'),
        },
        stdout: 'ignore',
        stderr: 'pipe',
      },
    );
    const said = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(said);
    return {
      lines: linesOf(await Bun.file(join(folder, 'lcov.info')).text()),
      tookMs: Number(await Bun.file(join(folder, 'took')).text()),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function linesOf(lcov: string): Map<string, Map<number, number>> {
  const files = new Map<string, Map<number, number>>();
  for (const record of lcov.split('end_of_record')) {
    const file = /^SF:(.+)$/m.exec(record)?.[1];
    if (file === undefined) continue;
    const lines = [...record.matchAll(/^DA:(\d+),(\d+)/gm)];
    files.set(file, new Map(lines.map(([, line, count]) => [Number(line), Number(count)])));
  }
  return files;
}
