import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { type Catalog, type CatalogSource, LiveCatalog } from './catalog.ts';
import type { FileSettings } from './file-schema.ts';
import { parseCatalog } from './parse.ts';
import type { Environment } from './key-rules.ts';
import { MAX_YAML_CHARACTERS } from './yaml-source.ts';

export interface CatalogOptions {
  /** The operator's file; absent: the built-in catalog, which never changes. */
  readonly path?: string | undefined;
  readonly builtin: (env: Environment) => string;
  readonly env: Environment;
  readonly settings?: FileSettings | undefined;
  readonly log: Log;
  readonly clock: Clock;
  /** How often the file is looked at. */
  readonly lookMs?: number | undefined;
}

/** Reads the catalog, or throws a {@link StartupError} that says why not. */
export function openCatalog(options: CatalogOptions): CatalogSource {
  const { path, env, settings, log, clock } = options;
  if (path === undefined) {
    const catalog = parseCatalog(options.builtin(env), { fileName: 'built-in catalog', env, settings });
    const live = new LiveCatalog(catalog, { kind: 'store', path, log, clock });
    return sourceOf(
      live,
      () => undefined,
      () => undefined,
    );
  }
  const file = new CatalogFile(path, options);
  return sourceOf(
    file.live,
    () => file.reload(),
    () => file.close(),
  );
}

function sourceOf(live: LiveCatalog, reload: () => void, close: () => void): CatalogSource {
  return {
    current: live.current,
    onChange: (listener) => live.onChange(listener),
    status: () => live.status(),
    inForce: async () => live.current(),
    refresh: async () => reload(),
    close,
  };
}

/** Looking costs some microseconds; nobody waits for a changed file longer than this twice. */
const LOOK_MS = 250;

/**
 * A catalog file that may change. What it is by its metadata is looked at: editors and Kubernetes replace files by
 * renaming others over them, and a watch on the file would stay on the one that is gone. A watch on its folder would hear
 * of every write to the database, where that is in the same folder.
 */
class CatalogFile {
  readonly live: LiveCatalog;
  readonly #path: string;
  readonly #parse: (text: string) => Catalog;
  readonly #timer: NodeJS.Timeout;
  /** The text read last, valid or not. */
  #text: string;
  /** The file as it was when it was read, and at the last look. */
  #read: string;
  #seen: string;

  constructor(name: string, { env, settings, log, clock, lookMs }: CatalogOptions) {
    this.#path = resolve(name);
    this.#parse = (text) => parseCatalog(text, { fileName: name, env, settings });
    this.#read = stateOf(this.#path);
    this.#seen = this.#read;
    this.#text = readFirst(this.#path);
    const catalog = this.#parse(this.#text);
    this.live = new LiveCatalog(catalog, { kind: 'file', path: this.#path, log, clock });
    this.#timer = setInterval(() => this.#look(), lookMs ?? LOOK_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Editors write in several steps: a changed file is read once it is the same at two looks. */
  #look(): void {
    const state = stateOf(this.#path);
    if (state !== this.#read && state === this.#seen) this.reload();
    this.#seen = state;
  }

  reload(): void {
    // Before it is read: a change in between is found at the next look.
    this.#read = stateOf(this.#path);
    try {
      const text = readText(this.#path);
      if (text === this.#text && this.live.status().error === undefined) return;
      this.#text = text;
      this.live.replace(this.#parse(text));
    } catch (error) {
      this.live.refuse(error);
    }
  }
}

/** Differs whenever the file was written or replaced. Links are followed. */
function stateOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}` : 'none';
}

function readFirst(path: string): string {
  try {
    return readText(path);
  } catch (error) {
    throw new StartupError(
      `Cannot read the catalog: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
}

function readText(path: string): string {
  // UTF-8 has at most four bytes per character; a larger file is refused without reading it.
  if (statSync(path).size > 4 * MAX_YAML_CHARACTERS)
    throw new StartupError(`${path} is too large for a catalog`);
  return readFileSync(path, 'utf8');
}
