import type { UseMutationResult, UseQueryResult } from '@tanstack/react-query';
import type { AdminCatalogDraft } from '../../../../src/console/contract.ts';
import type { BodyOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi, type ApiError, type ReadRoute } from '../../../lib/api.ts';

export type DraftEdit = BodyOf<typeof EDIT>['edits'][number];

const EDIT = 'POST /api/console/admin/catalog/draft/edit';
const DRAFT = 'GET /api/console/admin/catalog/draft';

/** What shows the draft, or something of it. */
export const READS_OF_DRAFT: readonly ReadRoute[] = [
  DRAFT,
  'GET /api/console/admin/backends/{id}/edit',
  'GET /api/console/admin/prices',
];

/** What changes when a draft is published. */
export const READS_OF_CATALOG: readonly ReadRoute[] = [
  ...READS_OF_DRAFT,
  'GET /api/console/admin/catalog',
  'GET /api/console/admin/catalog/history',
  'GET /api/console/models',
  'GET /api/console/admin/backends',
  'GET /api/console/admin/providers',
];

/** Somebody else may publish meanwhile. */
const REFRESH_MS = 30_000;

/** The one draft of the catalog that this operator has; `draft: null` if there is none. */
export function useDraft(): UseQueryResult<AdminCatalogDraft, ApiError> {
  return useApi(DRAFT, undefined, { refetchInterval: REFRESH_MS });
}

/** One after the other: each begins with what the one before has made. */
let latest: Promise<unknown> = Promise.resolve();

async function inOrder<Result>(act: () => Promise<Result>): Promise<Result> {
  const turn = latest.catch(() => undefined).then(act);
  latest = turn;
  return await turn;
}

/** Changes the draft from a page without YAML; it is made where there is none. */
export function useDraftEdit(
  onDone?: () => void,
): UseMutationResult<AdminCatalogDraft, ApiError, readonly DraftEdit[]> {
  return useAction(
    async (edits: readonly DraftEdit[]) =>
      await inOrder(async () => await call(EDIT, { body: { edits: [...edits] } })),
    { refresh: READS_OF_DRAFT, onDone: () => onDone?.() },
  );
}

/** Keeps a whole text. `tag` is that of the draft it replaces; null: there was none. */
export async function saveDraftText(yaml: string, tag: number | null): Promise<AdminCatalogDraft> {
  return await inOrder(
    async () => await call('PUT /api/console/admin/catalog/draft', { body: { yaml, tag } }),
  );
}

/** For a text that somebody asked for just now, such as an older version: whatever the draft was before. */
export async function replaceDraft(yaml: string): Promise<AdminCatalogDraft> {
  const { draft } = await call(DRAFT);
  return await saveDraftText(yaml, draft?.tag ?? null);
}
