import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join, resolve } from 'node:path';
import type { Log } from '../std/log.ts';

const LONGEST_MS = 10_000;
const SAMPLE_EVERY_US = 1_000;

/**
 * Writes down where the process spends its time, for ten seconds or until it is asked again, to a file in the data folder
 * that the developer tools of Chrome open. It has names of functions and no data.
 */
export class CpuProfile {
  readonly #folder: string;
  readonly #log: Log;
  #stop: (() => void) | undefined;

  constructor(folder: string, log: Log) {
    this.#folder = resolve(folder);
    this.#log = log;
  }

  /** Starts one, or ends the one that is running. */
  async toggle(): Promise<void> {
    if (this.#stop) {
      this.#stop();
      return;
    }
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    this.#stop = stop;
    const timer = setTimeout(stop, LONGEST_MS);
    try {
      const file = await this.#write(stopped);
      this.#log.info('cpu_profile_written', { file });
    } catch (error) {
      this.#log.warn('cpu_profile_failed', { error });
    } finally {
      clearTimeout(timer);
      this.#stop = undefined;
    }
  }

  async #write(stopped: Promise<void>): Promise<string> {
    const session = new Session();
    session.connect();
    try {
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
      await session.post('Profiler.start');
      this.#log.info('cpu_profile_started', { seconds: LONGEST_MS / 1000 });
      await stopped;
      const { profile } = await session.post('Profiler.stop');
      const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
      const file = join(this.#folder, `profile-${time}-${process.pid}.cpuprofile`);
      // A node on Postgres may have had no use for the folder so far.
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      await writeFile(file, JSON.stringify(profile), { mode: 0o600 });
      return file;
    } finally {
      session.disconnect();
    }
  }
}
