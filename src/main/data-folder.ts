import { readdirSync, statfsSync, statSync, type Stats } from 'node:fs';
import type { CheckResult } from '../cli/command.ts';
import { StartupError } from '../std/startup-error.ts';

const ROOT = 0;

/**
 * Makes root act as the owner of the data folder from now on, before anything in it is opened: a file that root leaves
 * there could not be read by the server. A folder that is not there yet, or is root's own, changes nothing.
 */
export function actAsOwnerOf(dataDir: string): void {
  if (process.getuid?.() !== ROOT) return;
  const owner = statOf(dataDir);
  if (!owner || owner.uid === ROOT) return;
  try {
    joinGroups(owner);
    process.setgid?.(owner.gid);
    process.setuid?.(owner.uid);
  } catch (error) {
    throw new StartupError(
      `The data folder ${dataDir} belongs to user ${owner.uid}, and root may not act as that user here. Run this as that user: the server could not read root's files.`,
      error,
    );
  }
}

/** Bun has it, its types do not. */
const withInitgroups: NodeJS.Process & { initgroups?(user: number, group: number): void } = process;

/** An owner without an entry among the users is in its own group alone. */
function joinGroups({ uid, gid }: Stats): void {
  try {
    withInitgroups.initgroups?.(uid, gid);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_UNKNOWN_CREDENTIAL')) throw error;
    process.setgroups?.([gid]);
  }
}

/** For `tollgate doctor`: whether every file of the folder belongs to its owner. Absent where there is no folder. */
export function checkDataFolder(dataDir: string): CheckResult | undefined {
  const folder = statOf(dataDir);
  if (!folder) return undefined;
  const foreign = readdirSync(dataDir).filter((name) => {
    const file = statOf(`${dataDir}/${name}`);
    return file !== undefined && file.uid !== folder.uid;
  });
  const user = `the user with the number ${folder.uid}`;
  if (foreign.length === 0) return { ok: true, line: `data folder: ${dataDir}, of ${user}` };
  return {
    ok: false,
    line: `data folder: ${dataDir} belongs to ${user}, but not ${foreign.slice(0, MAX_NAMED).join(', ')}${foreign.length > MAX_NAMED ? ' and others' : ''}, which the server may be unable to read. Run: chown -R ${folder.uid}:${folder.gid} ${dataDir}`,
  };
}

const MAX_NAMED = 5;

/** The file system of the data folder. */
export interface DiskSpace {
  /** What this user may still write. */
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** Absent where there is no folder. */
export function diskSpaceOf(dataDir: string): DiskSpace | undefined {
  if (!statOf(dataDir)) return undefined;
  const { bavail, blocks, bsize } = statfsSync(dataDir);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

const MEGABYTE = 1_048_576;
/** Enough for the log of the database to grow while somebody makes room. */
const LEAST_FREE_MEGABYTES = 512;

/** A database that cannot write refuses every request. */
export function checkDiskSpace(
  dataDir: string,
  space: DiskSpace | undefined = diskSpaceOf(dataDir),
): CheckResult | undefined {
  if (!space) return undefined;
  const freeMegabytes = Math.floor(space.freeBytes / MEGABYTE);
  return {
    ok: freeMegabytes >= LEAST_FREE_MEGABYTES,
    line: `disk: ${freeMegabytes} MB free for ${dataDir}`,
  };
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
