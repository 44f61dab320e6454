import { useSyncExternalStore } from 'react';

/** A file that goes with a message: a text becomes part of it, a PDF is passed to the model as it is. */
export type AttachedFile =
  | { readonly kind: 'text'; readonly name: string; readonly text: string }
  | { readonly kind: 'pdf'; readonly name: string; readonly url: string };

/** What a message has besides its text; pictures are `data:` URLs. */
export interface Attached {
  readonly images: readonly string[];
  readonly files: readonly AttachedFile[];
}

export const NOTHING_ATTACHED: Attached = { images: [], files: [] };

export const MAX_TEXT_BYTES = 100 * 1024;
export const MAX_BINARY_BYTES = 8 * 1024 * 1024;
/** A request may have 20 MB, and Base64 makes binary files a third larger. */
export const MAX_TOTAL_BYTES = 12 * 1024 * 1024;
export const MAX_ATTACHMENTS = 10;
const MAX_NAME = 120;

export type PendingAttachment = { readonly id: number; readonly bytes: number } & (
  | { readonly kind: 'image'; readonly url: string }
  | AttachedFile
);

type AttachmentProblem =
  | 'textTooLarge'
  | 'binaryTooLarge'
  | 'totalTooLarge'
  | 'tooMany'
  | 'notText'
  | 'unreadable';

let pending: readonly PendingAttachment[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** What goes with the next message; "Use in chat" in the gallery puts an image here. */
export function usePending() {
  return {
    attachments: useSyncExternalStore(subscribe, () => pending),
    remove: (id: number) => change(pending.filter((one) => one.id !== id)),
    clear: () => change([]),
  };
}

export function attachedOf(attachments: readonly PendingAttachment[]): Attached {
  return {
    images: attachments.flatMap((one) => (one.kind === 'image' ? [one.url] : [])),
    files: attachments.flatMap((one): AttachedFile[] => {
      if (one.kind === 'text') return [{ kind: 'text', name: one.name, text: one.text }];
      return one.kind === 'pdf' ? [{ kind: 'pdf', name: one.name, url: one.url }] : [];
    }),
  };
}

/** Reads a file and attaches it to the next message; returns the reason if that is not possible. */
export async function attach(file: File | Blob): Promise<AttachmentProblem | undefined> {
  const read = await readAttachment(file);
  if (typeof read === 'string') return read;
  if (pending.length >= MAX_ATTACHMENTS) return 'tooMany';
  const total = pending.reduce((sum, { bytes }) => sum + bytes, file.size);
  if (total > MAX_TOTAL_BYTES) return 'totalTooLarge';
  change([...pending, { id: nextId++, bytes: file.size, ...read }]);
  return undefined;
}

type ReadAttachment = { readonly kind: 'image'; readonly url: string } | AttachedFile;

export async function readAttachment(file: File | Blob): Promise<ReadAttachment | AttachmentProblem> {
  const name = 'name' in file && file.name !== '' ? file.name.slice(-MAX_NAME) : 'file';
  const isImage = IMAGES.has(file.type);
  try {
    if (isImage || (await isPdf(file))) {
      if (file.size > MAX_BINARY_BYTES) return 'binaryTooLarge';
      const url = await dataUrl(file, isImage ? file.type : 'application/pdf');
      return isImage ? { kind: 'image', url } : { kind: 'pdf', name, url };
    }
    if (file.size > MAX_TEXT_BYTES) return isNamedAsText(file, name) ? 'textTooLarge' : 'notText';
    const text = decodeText(await file.arrayBuffer());
    return text === undefined ? 'notText' : { kind: 'text', name, text };
  } catch {
    return 'unreadable'; // A folder, or a file that no longer exists.
  }
}

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** Decided by the first bytes, because not every system knows the types of files. */
async function isPdf(file: Blob): Promise<boolean> {
  return (await file.slice(0, 5).text()) === '%PDF-';
}

function isNamedAsText({ type }: Blob, name: string): boolean {
  return type.startsWith('text/') || type === 'application/json' || /\.(txt|md|csv|json|log)$/i.test(name);
}

/** Any file that decodes as text is one, whatever its name; `undefined` if it does not. */
export function decodeText(bytes: ArrayBuffer): string | undefined {
  const [first, second] = new Uint8Array(bytes);
  // Windows programs mark such files with their first two bytes.
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

async function dataUrl(file: Blob, type: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () =>
      typeof reader.result === 'string'
        ? resolve(reader.result.replace(/^data:[^;,]*/, `data:${type}`))
        : reject(new Error('the file cannot be read')),
    );
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the file cannot be read')));
    reader.readAsDataURL(file);
  });
}

/** A text file as part of a message: its name, and its text between fences that it does not contain itself. */
export function fileText({ name, text }: { readonly name: string; readonly text: string }): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `File ${JSON.stringify(name)}:\n${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

function change(next: readonly PendingAttachment[]): void {
  pending = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
