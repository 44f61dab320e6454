import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';

/** A thread needs fewer file descriptors; the rest is for connections that are accepted while it starts. */
const SPARE_FILES = 32;

/**
 * Whether a thread can be started. Bun ends the whole process when a new thread finds no file descriptor left, while
 * everything else that meets the limit gets an error: accepting connections waits, opening and connecting fail.
 */
export function hasSpareFiles(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < SPARE_FILES) opened.push(openSync(devNull, 'r'));
    return true;
  } catch {
    // The limit of this process or of the machine.
    return false;
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** Whether an error says that this process, or the machine, has no file descriptor left. */
export function isOutOfFiles(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

/** How many files and connections this process may have open; `undefined`: no limit, or it cannot be told. */
export function openFileLimit(): number | undefined {
  const text = softLimit();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** How many it has open now; `undefined` where the system does not say. */
export function openFileCount(): number | undefined {
  for (const folder of ['/proc/self/fd', '/dev/fd']) {
    try {
      return readdirSync(folder).length;
    } catch {
      // Other systems have only the other folder, or neither.
    }
  }
  return undefined;
}

function softLimit(): string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    // Not Linux: a shell inherits the limit and can tell it.
    return shellLimit();
  }
}

function shellLimit(): string | undefined {
  try {
    return Bun.spawnSync(['sh', '-c', 'ulimit -n']).stdout.toString().trim();
  } catch {
    // No shell, as on Windows, which has no such limit.
    return undefined;
  }
}
