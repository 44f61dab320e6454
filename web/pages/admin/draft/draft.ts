import type { UseMutationResult, UseQueryResult } from '@tanstack/react-query';
import type { AdminCatalogDraft } from '../../../lib/answers.ts';
import type { BodyOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi, type ApiError, type ReadRoute } from '../../../lib/api.ts';

export type DraftEdit = BodyOf<typeof EDIT>['edits'][number];

const EDIT = 'POST /api/console/admin/catalog/draft/edit';
const DRAFT = 'GET /api/console/admin/catalog/draft';

/** Queries that show the draft or a part of it. */
export const READS_OF_DRAFT: readonly ReadRoute[] = [
  DRAFT,
  'GET /api/console/admin/backends/{id}/edit',
  'GET /api/console/admin/prices',
  'GET /api/console/admin/backends',
];

/** Queries that change when a draft is published. */
export const READS_OF_CATALOG: readonly ReadRoute[] = [
  ...READS_OF_DRAFT,
  'GET /api/console/admin/catalog',
  'GET /api/console/admin/catalog/history',
  'GET /api/console/admin/catalog/plans',
  'GET /api/console/models',
  'GET /api/console/admin/backends',
  'GET /api/console/admin/providers',
];

/** Somebody else may publish in the meantime. */
const REFRESH_MS = 30_000;

/** The operator's one draft of the catalog; `draft` is null if there is none. */
export function useDraft(): UseQueryResult<AdminCatalogDraft, ApiError> {
  return useApi(DRAFT, undefined, { refetchInterval: REFRESH_MS });
}

/** Edits run one after the other, because each begins with the result of the previous one. */
let latest: Promise<unknown> = Promise.resolve();

async function inOrder<Result>(act: () => Promise<Result>): Promise<Result> {
  const turn = latest.catch(() => undefined).then(act);
  latest = turn;
  return await turn;
}

/** Changes the draft from a page without YAML, and creates it if there is none. */
export function useDraftEdit(
  onDone?: () => void,
): UseMutationResult<AdminCatalogDraft, ApiError, readonly DraftEdit[]> {
  return useAction(
    async (edits: readonly DraftEdit[]) =>
      await inOrder(async () => await call(EDIT, { body: { edits: [...edits] } })),
    { refresh: READS_OF_DRAFT, onDone: () => onDone?.() },
  );
}

/** Saves a whole text. `tag` is that of the draft it replaces, or null if there was none. */
export async function saveDraftText(yaml: string, tag: number | null): Promise<AdminCatalogDraft> {
  return await inOrder(
    async () => await call('PUT /api/console/admin/catalog/draft', { body: { yaml, tag } }),
  );
}

/** Replaces the draft, whatever it was: for a text that was asked for just now, such as an older version. */
export async function replaceDraft(yaml: string): Promise<AdminCatalogDraft> {
  const { draft } = await call(DRAFT);
  return await saveDraftText(yaml, draft?.tag ?? null);
}
