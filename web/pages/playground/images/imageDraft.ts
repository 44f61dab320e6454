import { useSyncExternalStore } from 'react';
import { makeStore } from '../../../lib/store.ts';
import { rememberedModel, rememberModel } from '../recipe.ts';
import { draftOf, EMPTY_IMAGE_DRAFT, type DraftField, type ImageBody, type ImageDraft } from './order.ts';
import { galleryReference, type Reference } from './references.ts';

export interface StudioState {
  readonly draft: ImageDraft;
  readonly references: readonly Reference[];
  readonly mask: string | undefined;
}

const NAME = 'images';

/** Survives leaving the page; the gallery puts here what is to be repeated or edited. */
const store = makeStore<StudioState>({
  draft: { ...EMPTY_IMAGE_DRAFT, choice: rememberedModel(NAME) },
  references: [],
  mask: undefined,
});

export function useImageDraft(): StudioState {
  return useSyncExternalStore(store.subscribe, store.get);
}

export function changeImageDraft(next: Partial<ImageDraft>): void {
  if (next.choice !== undefined) rememberModel(NAME, next.choice);
  store.change({ draft: { ...store.get().draft, ...next } });
}

export function changeImageValue(field: DraftField, value: string): void {
  const { draft } = store.get();
  store.change({ draft: { ...draft, values: { ...draft.values, [field]: value } } });
}

export function resetImageValues(): void {
  changeImageDraft({ values: {} });
}

export function setReferences(references: readonly Reference[]): void {
  const isSameFirst = references[0]?.key === store.get().references[0]?.key;
  store.change({ references, ...(isSameFirst ? {} : { mask: undefined }) });
}

export function setMask(mask: string | undefined): void {
  store.change({ mask });
}

/** Fills the form from a request without sending it, so that its price is seen first. */
export function repeatImage(
  body: ImageBody,
  pictures: Pick<StudioState, 'references' | 'mask'> = { references: [], mask: undefined },
): void {
  store.change({ draft: draftOf(body), ...pictures });
}

/** Starts the next request from an image of the gallery; false if it could not be loaded. */
export async function editImage(src: string, name: string): Promise<boolean> {
  const reference = await galleryReference(src, name);
  if (typeof reference === 'string') return false;
  setReferences([reference]);
  changeImageDraft({ prompt: '' });
  return true;
}
