import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { emailsOf, lostGroups } from '../../activity/accounts.ts';
import type { Endpoint } from '../../catalog/catalog.ts';
import { groupChanges, type CatalogChange, type CatalogChangeGroup } from '../../catalog/diff.ts';
import { KNOWN_HOSTS } from '../../catalog/key-rules.ts';
import type { CatalogPlan } from '../../catalog/plans.ts';
import type { ProviderKey } from '../../catalog/provider-keys.ts';
import { shownYaml } from '../../catalog/yaml-text.ts';
import { Fault } from '../../std/fault.ts';
import { usd } from '../amounts.ts';
import type { Page, Millis } from '../contract.ts';
import { limitOf, numberCursor, pageOf, pagingSchema } from '../table-query.ts';
import type { CatalogEditor, RouteParts } from '../parts.ts';
import { emptyBody, MEGABYTE, route } from '../route.ts';
import { followPublished } from './follow-published.ts';

export const catalogText = z.string().max(2_000_000);

const MOST_BELOW_COST = 100;
const MOST_CHANGES = 500;
/** A page of a large catalog's history tells the changes of the newest versions; of others when they are opened. */
const MOST_COMPARED_CHARACTERS = 1_000_000;

/** The catalog: always shown, and editable where it is in the store. */
export const catalogRoutes = [
  route('GET /api/console/admin/catalog', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get the catalog',
    compressed: true,
    handle: currentCatalog,
  }),
  route('POST /api/console/admin/catalog/propose', {
    who: 'operator',
    may: 'see_business',
    summary: 'Check a catalog without publishing it',
    // A preview stores nothing, so there is nothing to record.
    maxBytes: 4 * MEGABYTE,
    body: z.strictObject({ yaml: catalogText }),
    async handle(parts, { body }) {
      const { ok, mistakes, changes, belowCost, groups } = requireEditor(parts).propose(body.yaml);
      return {
        ok,
        problems: mistakes.map(({ line, column, path, message, missingKey }) => ({
          line,
          column,
          path,
          message,
          /** A key that would fix it if it were stored, and the server that it would be sent to. */
          missingKey: missingKey ? { name: missingKey.name, host: missingKey.origin } : null,
        })),
        /** What would change, for the preview; empty when nothing does. */
        changes: changes.map(changeItem),
        /** How many prices bring less than a backend takes. */
        belowCostTotal: belowCost.length,
        /** The first hundred of them: of the list (null), or of a price group. */
        belowCost: belowCost
          .slice(0, MOST_BELOW_COST)
          .map(({ group, endpoint, model, price, cost, ...rest }) => ({
            ...rest,
            group: group ?? null,
            model: `${endpoint}/${model}`,
            priceUsd: usd(price),
            costUsd: usd(cost),
          })),
        /** Price groups that accounts and teams are in and it does not have: they would pay the list prices. */
        lostGroups: ok ? await lostGroups(parts.store.db, groups) : [],
      };
    },
  }),
  route('POST /api/console/admin/catalog', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Publish a catalog',
    // Changing a backend's address changes where its key is sent.
    confirmed: true,
    audit: 'catalog.save',
    maxBytes: 4 * MEGABYTE,
    body: z.strictObject({
      yaml: catalogText,
      note: z.string().trim().max(500),
      /** The revision this edit began from; 409 `conflict` when somebody saved another one meanwhile. */
      revision: z.number().int().min(0),
      /** From when on it is in force, on every server at once; absent: now. Customers are told. */
      from: z.number().int().optional(),
    }),
    handle: (parts, { operator, body: { yaml: text, note, revision, from } }) => {
      const editor = requireEditor(parts);
      const draft = { text, note, revision };
      return from === undefined
        ? saveDraft(editor, operator.id, draft)
        : planDraft(editor, operator.id, { ...draft, from });
    },
  }),
  route('GET /api/console/admin/catalog/plans', {
    who: 'operator',
    may: 'see_business',
    summary: 'List catalogs with a date: the one that waits, and those that are over',
    compressed: true,
    async handle(parts) {
      const editor = requireEditor(parts);
      const plans = await editor.plans.list();
      const emails = await actorNames(
        parts,
        plans.flatMap(({ actor, endedBy }) => [actor, endedBy ?? '']),
      );
      return { items: plans.map((plan) => planItem(editor, plan, emails)) };
    },
  }),
  route('POST /api/console/admin/catalog/plans/{id}/cancel', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Cancel a catalog with a date',
    audit: 'catalog.cancel-plan',
    body: emptyBody,
    handle: (parts, { params, operator }) =>
      cancelPlan(requireEditor(parts), operator.id, numberCursor(params.id) ?? 0),
  }),
  route('GET /api/console/admin/catalog/history', {
    who: 'operator',
    may: 'see_business',
    summary: 'List published catalogs',
    query: pagingSchema,
    async handle(parts, { query }): Promise<Page<AdminCatalogVersionItem>> {
      const limit = limitOf(query);
      const rows = await requireEditor(parts).history({
        before: numberCursor(query.cursor),
        limit: limit + 1,
      });
      const emails = await actorNames(
        parts,
        rows.map((row) => row.actor),
      );
      const changed = await changesOf(requireEditor(parts), rows.slice(0, limit));
      return pageOf(rows, limit, {
        item: (row) => ({ ...version(row, emails), changes: changed.get(row.id) ?? null }),
        cursor: (row) => String(row.id),
      });
    },
  }),
  route('GET /api/console/admin/catalog/history/{id}', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get a published catalog',
    async handle(parts, { params }): Promise<AdminCatalogVersionDetail> {
      const found = await requireEditor(parts).at(numberCursor(params.id) ?? 0);
      if (!found) throw new Fault('not_found', 'There is no such version.');
      const emails = await actorNames(parts, [found.actor]);
      const changes = await requireEditor(parts).changesAt(found.id);
      return {
        ...version(found, emails),
        yaml: shownYaml(found.text),
        changes: changes?.slice(0, MOST_CHANGES).map(changeItem) ?? null,
        moreChanges: Math.max(0, (changes?.length ?? 0) - MOST_CHANGES),
      };
    },
  }),
  route('GET /api/console/admin/catalog/keys', {
    who: 'operator',
    may: 'see_business',
    summary: 'List provider keys, without their values',
    handle: async (parts) => ({
      items: ((await parts.catalogEditor?.listProviderKeys()) ?? []).map(providerKey),
      /** By the usual name of a key, the host it is for. */
      knownHosts: Object.fromEntries(KNOWN_HOSTS),
    }),
  }),
  route('PUT /api/console/admin/catalog/keys/{id}', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Store a provider key',
    confirmed: true,
    audit: 'provider-key.set',
    body: z.strictObject({
      value: z.string().min(1).max(4_096),
      /** The only server that this key is sent to. */
      host: z.string().trim().min(1).max(500),
    }),
    async handle(parts, { params, body, operator }) {
      const editor = requireEditor(parts);
      const key = await editor.setProviderKey(params.id, body.value, body.host);
      // The built-in catalog, which nobody has edited yet, depends on the keys that there are.
      await followPublished(editor, operator.id);
      return providerKey(key);
    },
  }),
  route('DELETE /api/console/admin/catalog/keys/{id}', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Remove a provider key',
    confirmed: true,
    audit: 'provider-key.remove',
    async handle(parts, { params }) {
      if (!(await requireEditor(parts).removeProviderKey(params.id)))
        throw new Fault('not_found', 'There is no such key.');
      return {};
    },
  }),
];

/** Addresses of people, and names of tokens for programs. */
async function actorNames(
  { store: { db } }: RouteParts,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const tokens = await db
    .selectFrom('operator_token')
    .select(['id', 'name'])
    .where('id', 'in', [...new Set(['', ...ids])])
    .execute();
  return new Map([...(await emailsOf(db, ids)), ...tokens.map(({ id, name }) => [id, name] as const)]);
}

export function requireEditor({ catalog, catalogEditor }: RouteParts): CatalogEditor {
  if (catalogEditor) return catalogEditor;
  const path = catalog.status().path ?? 'a file';
  throw new Fault(
    'read_only',
    `The catalog comes from ${path}. Edit it there; changes are picked up immediately.`,
  );
}

export async function saveDraft(
  editor: CatalogEditor,
  actor: string,
  draft: PublishedDraft,
): Promise<Publication> {
  const result = await editor.save(draft.text, actor, draft.note, draft.revision);
  if (result.kind !== 'saved') throw notPublished(result);
  await followPublished(editor, actor);
  return { revision: result.version, from: null };
}

interface PublishedDraft {
  readonly text: string;
  readonly note: string;
  readonly revision: number;
}

interface Publication {
  /** The newest version. */
  revision: number;
  /** From when on it is in force; null: now. */
  from: Millis | null;
}

async function planDraft(
  editor: CatalogEditor,
  actor: string,
  { from, revision, ...draft }: PublishedDraft & { readonly from: number },
): Promise<Publication> {
  const result = await editor.planFor(from, { ...draft, actor, version: revision });
  if (result.kind !== 'planned') throw notPublished(result);
  // It is in the plan now, from which a cancellation brings it back.
  await editor.drafts.remove(actor);
  return { revision: editor.newest().version, from };
}

async function cancelPlan(editor: CatalogEditor, actor: string, id: number) {
  const plan = await editor.cancelPlan(id, actor);
  if (!plan) {
    if ((await editor.plans.list()).some((one) => one.id === id))
      throw new Fault('conflict', 'It is in force already, or was cancelled.');
    throw new Fault('not_found', 'There is no such plan.');
  }
  // Back as a draft, to be changed and published again, unless there is another one.
  const { text, base } = plan;
  await editor.drafts.save(actor, { text, base, revision: editor.newest().version }, undefined);
  await followPublished(editor, actor);
  return {};
}

function planItem(
  editor: CatalogEditor,
  plan: Omit<CatalogPlan, 'text' | 'base'>,
  emails: ReadonlyMap<string, string>,
) {
  const waiting = editor.plan();
  const changes = waiting?.id === plan.id ? editor.propose(waiting.text).changes : [];
  return {
    id: plan.id,
    from: plan.from,
    madeAt: plan.madeAt,
    actor: emails.get(plan.actor) ?? plan.actor,
    note: plan.note,
    state: plan.state,
    endedAt: plan.endedAt ?? null,
    /** Who cancelled it. */
    endedBy: plan.endedBy === undefined ? null : (emails.get(plan.endedBy) ?? plan.endedBy),
    /** The version that it became. */
    revision: plan.version ?? null,
    /** The changes of a plan that waits; empty for others. */
    changes: changes.slice(0, MOST_CHANGES).map(changeItem),
  };
}

function notPublished(result: Exclude<Awaited<ReturnType<CatalogEditor['save']>>, { kind: 'saved' }>): Fault {
  switch (result.kind) {
    case 'conflict':
      return new Fault(
        'conflict',
        `Someone saved version ${result.version} in the meantime. Review it, then save again.`,
      );
    case 'invalid': {
      const [first] = result.mistakes;
      const place = first && first.line > 0 ? `Line ${first.line}` : (first?.path ?? '');
      return new Fault('invalid_field', `${place}: ${first?.message ?? 'not a catalog'}`, {
        param: 'yaml',
      });
    }
    default:
      return result satisfies never;
  }
}

async function currentCatalog(parts: RouteParts) {
  const catalog = parts.catalog.current();
  const status = parts.catalog.status();
  const newest = parts.catalogEditor?.newest();
  return {
    source: {
      kind: status.kind,
      path: status.path ?? null,
      loadedAt: status.loadedAt,
      error: status.error ?? null,
      /** Keys whose new value is not in force before the next start. */
      restartNeeded: [...parts.restartNeeded()],
      editable: parts.catalogEditor !== undefined,
    },
    version: catalog.version,
    /** The newest stored version's number; send it back with a save. Null for a file. */
    revision: newest?.version ?? null,
    yaml: newest?.yaml ?? (await fileText(status.path)),
    endpoints: [...catalog.endpoints.values()].map(endpointItem),
    upstreams: [...catalog.upstreams.values()].map((upstream) => ({
      name: upstream.name,
      kind: upstream.kind,
      baseUrl: upstream.baseUrl ?? null,
      hasKey: upstream.apiKey !== undefined,
      /** Why it is not asked at all: its key is for another host. */
      problem: upstream.problem ?? null,
    })),
    limits: { ...catalog.limits },
  };
}

/** The file as it is now; it may be missing, while the catalog that was read from it is still in use. */
async function fileText(path: string | undefined): Promise<string> {
  if (path === undefined) return '';
  return await readFile(path, 'utf8').catch(() => '');
}

function endpointItem(endpoint: Endpoint) {
  return {
    code: endpoint.code,
    name: endpoint.name,
    type: endpoint.type,
    unavailable: endpoint.unavailable ?? null,
    models: endpoint.models.map(({ id }) => id),
    /** Tried in order; those of one place share by weight. */
    places: endpoint.places.map((place) => place.map(({ upstream, weight }) => ({ upstream, weight }))),
  };
}

export function providerKey({ name, hint, origin, updatedAt }: ProviderKey) {
  return {
    /** As written in the YAML: `${NAME}`. */
    name,
    hint,
    /** `https://host:port`: the only server it is sent to. null: to none until it is entered again. */
    host: origin ?? null,
    updatedAt,
  };
}

interface AdminCatalogVersion {
  revision: number;
  at: Millis;
  /** An email address, where the account has one. */
  actor: string;
  note: string;
}

interface AdminCatalogVersionItem extends AdminCatalogVersion {
  /** What it changed, in groups; null: it is the first, or can no longer be compared, or only when it is opened. */
  changes: ReturnType<typeof groupItem>[] | null;
}

interface AdminCatalogVersionDetail extends AdminCatalogVersion {
  yaml: string;
  changes: ReturnType<typeof changeItem>[] | null;
  moreChanges: number;
}

async function changesOf(editor: CatalogEditor, versions: readonly { readonly id: number }[]) {
  const found = new Map<number, ReturnType<typeof groupItem>[]>();
  let compared = 0;
  for (const { id } of versions) {
    if (compared > MOST_COMPARED_CHARACTERS) break;
    const changes = await editor.changesAt(id);
    if (changes) found.set(id, groupChanges(changes).map(groupItem));
    compared += editor.newest().json.length;
  }
  return found;
}

function changeItem({ kind, thing, name, aspect, subject, before, after }: CatalogChange) {
  const is = { kind, thing, name, subject };
  return { ...is, aspect: aspect ?? null, before: before ?? null, after: after ?? null };
}

function groupItem({ kind, thing, aspect, count, names, before, after }: CatalogChangeGroup) {
  const is = { kind, thing, count, names };
  return { ...is, aspect: aspect ?? null, before: before ?? null, after: after ?? null };
}

function version(
  row: { id: number; createdAt: number; actor: string; note: string },
  emails: ReadonlyMap<string, string>,
) {
  const actor = emails.get(row.actor) ?? row.actor;
  return { revision: row.id, at: row.createdAt, actor, note: row.note };
}
