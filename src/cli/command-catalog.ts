import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { lostGroups, type LostGroup } from '../activity/accounts.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { storedText, type CatalogMap } from '../catalog/catalog-data.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import { ImportError, type Mistake } from '../catalog/mistakes.ts';
import type { Environment } from '../catalog/key-rules.ts';
import { parseCatalog } from '../catalog/parse.ts';
import type { StoredCatalog } from '../catalog/stored.ts';
import { editedYaml } from '../catalog/yaml-text.ts';
import { StartupError } from '../std/startup-error.ts';
import type { Store } from '../store/store.ts';

/** The catalog that a server would use, for commands that show or change it. */
export interface CommandCatalog {
  readonly kind: 'file' | 'store';
  /** The place of the catalog, for people. */
  readonly place: string;
  readonly text: string;
  readonly parse: (text: string) => Catalog;
  /** A text with changes, as it is saved here. */
  readonly write: (text: string, changed: CatalogMap) => string;
  /** Throws an {@link ImportError} if it was changed meanwhile. `record`: for the audit log of the store that has it. */
  save(changed: string, note: string, record: (store: Store) => Promise<void>): Promise<void>;
  /** Catalogs that take effect at a date; absent where the catalog is a file. */
  readonly plans?: CommandPlans | undefined;
}

interface CommandPlans {
  list(): ReturnType<StoredCatalog['plans']['list']>;
  /** Throws an {@link ImportError} if the text is no catalog, and what is wrong with the moment. */
  add(text: string, plan: { readonly from: number; readonly note: string }): Promise<void>;
  /** False: no plan waits, or it has just taken effect. */
  cancel(): Promise<boolean>;
  /** The price groups that wallets are in and this catalog does not have. */
  lostGroups(catalog: Catalog): Promise<LostGroup[]>;
  /** Before something is done to them. */
  record(write: (store: Store) => Promise<void>): Promise<void>;
}

export function fileCatalog(
  path: string,
  { env, settings }: { readonly env: Environment; readonly settings: FileSettings },
): CommandCatalog {
  const text = readText(path);
  return {
    kind: 'file',
    place: path,
    text,
    parse: (changed) => parseCatalog(changed, { fileName: path, env, settings }),
    write: editedYaml,
    async save(changed) {
      if (readText(path) !== text) throw new ImportError(`${path} was changed meanwhile; look at it again.`);
      // A link stays a link, and a server that watches the file never sees half of it.
      const file = realpathSync(path);
      const draft = `${file}.${process.pid}.new`;
      try {
        writeFileSync(draft, changed, { mode: statSync(file).mode, flag: 'wx' });
        renameSync(draft, file);
      } finally {
        rmSync(draft, { force: true });
      }
    },
  };
}

export function storeCatalog(catalog: StoredCatalog, { store }: { readonly store: Store }): CommandCatalog {
  const { version, json: text } = catalog.newest();
  return {
    kind: 'store',
    place: 'the catalog in the store',
    text,
    parse: (changed) => catalog.parse(changed),
    write: (_, changed) => storedText(changed),
    async save(changed, note, record) {
      await record(store);
      const result = await catalog.save(changed, 'cli', note, version);
      if (result.kind !== 'saved') throw notSaved(result);
    },
    plans: {
      list: () => catalog.plans.list(),
      async add(changed, { from, note }) {
        const result = await catalog.planFor(from, { text: changed, actor: 'cli', note, version });
        if (result.kind !== 'planned') throw notSaved(result);
      },
      async cancel() {
        const plan = catalog.plan();
        return plan !== undefined && (await catalog.cancelPlan(plan.id, 'cli')) !== undefined;
      },
      lostGroups: (changed) => lostGroups(store.db, changed.groups?.keys() ?? []),
      record: (write) => write(store),
    },
  };
}

function notSaved(
  result: Exclude<Awaited<ReturnType<StoredCatalog['save']>>, { kind: 'saved' }>,
): ImportError {
  return new ImportError(
    result.kind === 'conflict'
      ? `Someone saved version ${result.version} of the catalog in the meantime. Review it, then try again.`
      : `The catalog would not be valid: ${mistakeText(result.mistakes)}.`,
  );
}

function mistakeText([first]: readonly Mistake[]): string {
  return first ? `${first.path} ${first.message}`.trim() : 'it has a mistake';
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartupError(`Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
