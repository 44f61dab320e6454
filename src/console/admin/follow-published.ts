import { mergeCatalogs } from '../../catalog/draft/merge.ts';
import { ImportError } from '../../catalog/import/import-error.ts';
import type { CatalogEditor } from '../parts.ts';

/** After the operator's own publication: a draft whose changes still fit goes on with the new version. */
export async function followPublished(editor: CatalogEditor, owner: string): Promise<void> {
  const draft = await editor.drafts.read(owner);
  const { yaml, version: revision } = editor.text();
  if (!draft || draft.base === yaml) return;
  if (draft.yaml === yaml) return await editor.drafts.remove(owner);
  try {
    const { text, conflicts } = mergeCatalogs({ base: draft.base, mine: draft.yaml, theirs: yaml });
    if (conflicts.length > 0) return;
    await editor.drafts.save(owner, { yaml: text, base: yaml, revision }, draft.tag);
  } catch (error) {
    // A draft that is no YAML stays as it is, and its page says so.
    if (!(error instanceof ImportError)) throw error;
  }
}
