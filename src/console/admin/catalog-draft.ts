import { z } from 'zod';
import type { CatalogDraft } from '../../catalog/draft/drafts.ts';
import { draftEdit, editDraft, type DraftEdit } from '../../catalog/draft/draft-edit.ts';
import { ImportError } from '../../catalog/mistakes.ts';
import { storedText } from '../../catalog/catalog-data.ts';
import { shownYaml } from '../../catalog/yaml-text.ts';
import { Fault } from '../../std/fault.ts';
import type { Millis } from '../contract.ts';
import type { CatalogEditor } from '../parts.ts';
import { MEGABYTE, emptyBody, route } from '../route.ts';
import { catalogText, requireEditor } from './catalog.ts';
import { mergedDraft } from './follow-published.ts';

/** A price list of five thousand models may be changed at once. */
const MOST_EDITS = 5_000;

/**
 * The draft of whoever is signed in: YAML, prices and backends are edited in this one. What is typed is kept as it is
 * typed, comments included, until another page changes the draft, which makes it data. Nothing of it is in force, so that
 * only its publication is recorded.
 */
export const catalogDraftRoutes = [
  route('GET /api/console/admin/catalog/draft', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get your draft of the catalog',
    compressed: true,
    async handle({ catalogEditor }, { operator }): Promise<AdminCatalogDraft> {
      if (!catalogEditor) return { draft: null };
      return shown(catalogEditor, await catalogEditor.draft(operator.id));
    },
  }),
  route('PUT /api/console/admin/catalog/draft', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Write your draft of the catalog',
    maxBytes: 4 * MEGABYTE,
    /** The tag of the draft that was changed; null: there was none. 409 `conflict` if another page saved a newer one. */
    body: z.strictObject({ yaml: catalogText, tag: z.number().int().nullable() }),
    async handle(parts, { operator, body: { yaml, tag } }) {
      const editor = requireEditor(parts);
      const before = await editor.draft(operator.id);
      if (before?.tag !== (tag ?? undefined)) throw changedElsewhere();
      return await keep(editor, operator.id, before, yaml);
    },
  }),
  route('POST /api/console/admin/catalog/draft/edit', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Edit your draft of the catalog',
    maxBytes: 2 * MEGABYTE,
    body: z.strictObject({ edits: z.array(draftEdit).min(1).max(MOST_EDITS) }),
    handle: (parts, { operator, body: { edits } }) => edit(requireEditor(parts), operator.id, edits),
  }),
  route('POST /api/console/admin/catalog/draft/merge', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Merge what was published into your draft',
    body: z.strictObject({ prefer: z.enum(['mine', 'theirs']).optional() }),
    handle: (parts, { operator, body: { prefer } }) => merge(requireEditor(parts), operator.id, prefer),
  }),
  route('POST /api/console/admin/catalog/draft/discard', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Discard your draft',
    body: emptyBody,
    async handle(parts, { operator }): Promise<AdminCatalogDraft> {
      await requireEditor(parts).drafts.remove(operator.id);
      return { draft: null };
    },
  }),
];

interface AdminCatalogDraft {
  draft: {
    yaml: string;
    /** Changes with each save; sent back with the next one. */
    tag: number;
    savedAt: Millis;
    /** The version that it began with; sent along when it is published. */
    revision: number;
    /** Another version was published since: the draft must be merged with it or discarded. */
    isOutdated: boolean;
  } | null;
}

interface AdminMergedDraft extends AdminCatalogDraft {
  /** What both have changed, each to something else; if there are any, nothing was merged. */
  conflicts: string[];
}

/** What pages show and edit: the draft, or what is published. */
export async function draftText(editor: CatalogEditor, owner: string): Promise<string> {
  return (await editor.draft(owner))?.text ?? editor.newest().json;
}

async function edit(
  editor: CatalogEditor,
  owner: string,
  edits: readonly DraftEdit[],
): Promise<AdminCatalogDraft> {
  const before = await editor.draft(owner);
  const { file, data } = editor.inspect(before?.text ?? editor.newest().json);
  if (!file || !data)
    throw new Fault('invalid_field', 'The draft has mistakes. Fix them as YAML, or discard the draft.', {
      param: 'yaml',
    });
  try {
    return await keep(editor, owner, before, storedText(editDraft(data, file, edits)));
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    throw new Fault('invalid_field', error.message, { param: 'edits' });
  }
}

/** A draft that says what is published is none. */
async function keep(
  editor: CatalogEditor,
  owner: string,
  before: CatalogDraft | undefined,
  text: string,
): Promise<AdminCatalogDraft> {
  const { json, yaml, version } = editor.newest();
  const { base, revision } = before ?? { base: json, revision: version };
  if ((text === json || text === yaml) && base === json) {
    await editor.drafts.remove(owner);
    return { draft: null };
  }
  const tag = await editor.drafts.save(owner, { text, base, revision }, before?.tag);
  if (tag === undefined) throw changedElsewhere();
  return shown(editor, { text, base, revision, tag });
}

async function merge(
  editor: CatalogEditor,
  owner: string,
  prefer: 'mine' | 'theirs' | undefined,
): Promise<AdminMergedDraft> {
  const draft = await editor.draft(owner);
  if (!draft) return { draft: null, conflicts: [] };
  const merged = mergedDraft(draft, editor.newest(), prefer);
  if (!merged)
    throw new Fault('invalid_field', 'The draft is not YAML. Fix it, or discard it.', {
      param: 'yaml',
    });
  const { next, conflicts } = merged;
  if (conflicts.length > 0 && prefer === undefined)
    return { ...shown(editor, draft), conflicts: [...conflicts] };
  if (next.text === next.base) {
    await editor.drafts.remove(owner);
    return { draft: null, conflicts: [] };
  }
  const tag = await editor.drafts.save(owner, next, draft.tag);
  if (tag === undefined) throw changedElsewhere();
  return { ...shown(editor, { ...next, tag }), conflicts: [] };
}

function shown(editor: CatalogEditor, draft: CatalogDraft | undefined): AdminCatalogDraft {
  if (!draft) return { draft: null };
  const { text, tag, revision, base } = draft;
  const isOutdated = base !== editor.newest().json;
  return { draft: { yaml: shownYaml(text), tag, savedAt: tag, revision, isOutdated } };
}

function changedElsewhere(): Fault {
  return new Fault('conflict', 'The draft was changed on another page. Load it again.');
}
