import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../package.json' with { type: 'json' };

/** What is running, for people who compare nodes or report a fault. */
export interface Release {
  readonly version: string;
  /** The commit it was made from, with `-dirty` after it if files were changed since; `undefined` if nobody can tell. */
  readonly commit: string | undefined;
}

/** `0.1.0 (8c1608041f2a)`, as people read it. */
export function releaseName({ version: number, commit }: Release): string {
  return commit === undefined ? number : `${number} (${commit})`;
}

let known: Release | undefined;

/** Asked for once: in a checkout, it takes a process of its own. */
export function currentRelease(): Release {
  known ??= { version, commit: currentCommit() };
  return known;
}

/** Written into a binary by scripts/build.ts; empty if it was not known there. Sources have none. */
declare const BUILD_COMMIT: string | undefined;

function currentCommit(): string | undefined {
  if (typeof BUILD_COMMIT === 'string') return BUILD_COMMIT || undefined;
  return commitOf(join(import.meta.dir, '../..'));
}

/** A package or an image has no history; the file is written when it is made. */
export const COMMIT_FILE = 'COMMIT';
const GIT_TIMEOUT_MS = 2_000;
const COMMIT = /^[0-9a-f]{7,40}(?:-dirty)?$/;

/**
 * The commit of a folder with the sources: that of the checkout, or what the package's file says. Git is asked only
 * about a checkout of its own, because a package may lie somewhere in the checkout of something else.
 */
export function commitOf(folder: string): string | undefined {
  const told = existsSync(join(folder, '.git')) ? gitCommit(folder) : fileText(join(folder, COMMIT_FILE));
  return told !== undefined && COMMIT.test(told) ? told : undefined;
}

function gitCommit(folder: string): string | undefined {
  try {
    const git = Bun.spawnSync(
      [
        'git',
        '--no-optional-locks',
        '-C',
        folder,
        'describe',
        '--always',
        '--dirty',
        '--exclude=*',
        '--abbrev=12',
      ],
      { stdio: ['ignore', 'pipe', 'ignore'], timeout: GIT_TIMEOUT_MS },
    );
    return git.success ? git.stdout.toString().trim() : undefined;
  } catch {
    // There is no git on this machine.
    return undefined;
  }
}

function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    // A folder that somebody copied has neither.
    return undefined;
  }
}
