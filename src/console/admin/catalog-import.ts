import { z } from 'zod';
import { CatalogError, ImportError } from '../../catalog/mistakes.ts';
import { shownYaml } from '../../catalog/yaml-text.ts';
import { markupFactor } from '../../catalog/price-schema.ts';
import { Fault } from '../../std/fault.ts';
import { previewImport, type ImportRequest } from '../../upstream/offered/import-preview.ts';
import { shownImport } from '../../upstream/offered/import-view.ts';
import type { RouteParts } from '../parts.ts';
import { route } from '../route.ts';
import { draftText } from './catalog-draft.ts';

/** A backend may take so long to list its models. */
export const LIST_MS = 30_000;

/**
 * Models of a backend as a draft of the catalog. It is saved like any other draft, with the revision that is returned;
 * where the catalog is the operator's file, `paste` is what to write there.
 */
export const catalogImportRoutes = [
  route('POST /api/console/admin/catalog/import', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Import the models of a backend into your draft',
    // It stores nothing, but it calls a backend with its key.
    audit: 'catalog.import-preview',
    body: z.strictObject({
      provider: z.string().trim().min(1).max(64),
      /** A factor of the list prices such as `1.2`; goes before the upstream's. */
      markup: markupFactor.optional(),
      /** Names of models, `*` for any text. */
      models: z.array(z.string().trim().min(1).max(200)).min(1).max(1_000).optional(),
    }),
    withinMs: LIST_MS,
    handle: (parts, { body, deadline, operator }) => importDraft(parts, operator.id, body, deadline),
  }),
];

/** The draft, or what is published, with models of a backend; its mistakes are refusals. */
export async function importDraft(
  parts: RouteParts,
  owner: string,
  wanted: ImportRequest,
  deadline: AbortSignal,
) {
  const published = await parts.importTarget();
  const text = parts.catalogEditor ? await draftText(parts.catalogEditor, owner) : published.text;
  const target = { ...published, text };
  const preview = await previewImport(target, wanted, deadline).catch(refused);
  return {
    ...shownImport(preview),
    /** The draft, to be saved with `revision`; null: nothing would change, or the catalog is a file. */
    yaml: target.revision === undefined || preview.changed === undefined ? null : shownYaml(preview.changed),
    revision: target.revision ?? null,
    /** The changes alone, to paste into a file. */
    paste: preview.paste,
  };
}

/** Answers with the reason that the backend or the catalog gave. */
export function refused(error: unknown): never {
  if (error instanceof ImportError) throw new Fault('invalid_field', error.message, { param: 'provider' });
  if (!(error instanceof CatalogError)) throw error;
  const [first] = error.mistakes;
  throw new Fault('invalid_field', `${first?.path ?? ''}: ${first?.message ?? 'not a catalog'}`, {
    param: 'provider',
  });
}
