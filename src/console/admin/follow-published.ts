import { storedText } from '../../catalog/catalog-data.ts';
import type { CatalogDraft } from '../../catalog/draft/drafts.ts';
import { mergeCatalogs } from '../../catalog/draft/merge.ts';
import { catalogData } from '../../catalog/parse.ts';
import type { CatalogEditor } from '../parts.ts';

/** After the operator's own publication: a draft whose changes still fit goes on with the new version. */
export async function followPublished(editor: CatalogEditor, owner: string): Promise<void> {
  const draft = await editor.draft(owner);
  const newest = editor.newest();
  if (!draft || draft.base === newest.json) return;
  // A draft that is no YAML stays as it is, and its page says so.
  const merged = mergedDraft(draft, newest);
  if (!merged || merged.conflicts.length > 0) return;
  const { next } = merged;
  if (next.text === next.base) await editor.drafts.remove(owner);
  else await editor.drafts.save(owner, next, draft.tag);
}

/** The draft on what is published now, and what both have changed; `undefined`: it is no YAML. */
export function mergedDraft(
  { text, base }: CatalogDraft,
  { version: revision, json }: { readonly version: number; readonly json: string },
  prefer?: 'mine' | 'theirs',
): { next: Omit<CatalogDraft, 'tag'>; conflicts: readonly string[] } | undefined {
  const [before, mine, theirs] = [catalogData(base), catalogData(text), catalogData(json)];
  if (!before || !mine || !theirs) return undefined;
  const { merged, conflicts } = mergeCatalogs({ base: before, mine, theirs, prefer });
  return { next: { text: storedText(merged), base: json, revision }, conflicts };
}
