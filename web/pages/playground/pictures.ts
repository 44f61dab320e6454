import { useSyncExternalStore } from 'react';

export const MAX_PICTURE_BYTES = 8 * 1024 * 1024;
const MAX_PICTURES = 6;

let pictures: readonly string[] = [];
const listeners = new Set<() => void>();

/** Images that go with the next message; the gallery puts one here for "Use in chat". */
export function usePending() {
  return {
    pictures: useSyncExternalStore(subscribe, () => pictures),
    add: addPending,
    remove: (index: number) => change(pictures.filter((_, at) => at !== index)),
    clear: () => change([]),
  };
}

export function addPending(picture: string): void {
  change([...pictures, picture].slice(-MAX_PICTURES));
}

/** A file as a `data:` URL; undefined if it is too large or not an image. */
export async function readPicture(file: Blob): Promise<string | undefined> {
  if (file.size > MAX_PICTURE_BYTES || !file.type.startsWith('image/')) return undefined;
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () =>
      resolve(typeof reader.result === 'string' ? reader.result : undefined),
    );
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the file cannot be read')));
    reader.readAsDataURL(file);
  });
}

function change(next: readonly string[]): void {
  pictures = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
