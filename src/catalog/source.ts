import { readFileSync, statSync, watch, type FSWatcher } from 'node:fs';
import { dirname, resolve } from 'node:path';
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
  /** Finds changes that no watcher reports (a file behind a link, a network disk). */
  readonly pollMs?: number | undefined;
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
    refresh: async () => reload(),
    close,
  };
}

const POLL_MS = 5000;
/** Editors write in several steps; only the last result is read. */
const SETTLE_MS = 50;

/**
 * A watched catalog file. Its folder is watched, not the file: editors and Kubernetes replace files by renaming others
 * over them, and a watch on the file would stay on the one that is gone.
 */
class CatalogFile {
  readonly live: LiveCatalog;
  readonly #path: string;
  readonly #parse: (text: string) => Catalog;
  readonly #watcher: FSWatcher | undefined;
  readonly #poll: NodeJS.Timeout;
  #settle: NodeJS.Timeout | undefined;
  /** The text read last, valid or not. */
  #text: string;

  constructor(name: string, { env, settings, log, clock, pollMs }: CatalogOptions) {
    this.#path = resolve(name);
    this.#parse = (text) => parseCatalog(text, { fileName: name, env, settings });
    this.#text = readFirst(this.#path);
    const catalog = this.#parse(this.#text);
    this.live = new LiveCatalog(catalog, { kind: 'file', path: this.#path, log, clock });
    this.#watcher = watchFolder(dirname(this.#path), () => this.#changed(), log);
    this.#poll = setInterval(() => this.reload(), pollMs ?? POLL_MS);
    this.#poll.unref();
  }

  close(): void {
    this.#watcher?.close();
    clearInterval(this.#poll);
    clearTimeout(this.#settle);
  }

  #changed(): void {
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.reload(), SETTLE_MS);
    this.#settle.unref();
  }

  reload(): void {
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

function watchFolder(folder: string, changed: () => void, log: Log): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on('error', (error) => log.warn('catalog_watch_failed', { folder, error }));
    return watcher;
  } catch (error) {
    // No watches left, or a file system without them: polling works as well.
    log.warn('catalog_watch_failed', { folder, error });
    return undefined;
  }
}
