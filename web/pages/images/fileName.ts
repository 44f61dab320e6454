const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
};
const MOST_WORDS = 6;
const MOST_CHARACTERS = 60;

/** A name that tells the pictures of a folder apart: the first words of the prompt, and the end of the id. */
export function imageFileName(prompt: string, id: string, mime: string): string {
  const words = prompt
    .normalize('NFKD')
    // Accents, which the normalisation separated from their letters.
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .slice(0, MOST_WORDS)
    .join('-')
    .slice(0, MOST_CHARACTERS);
  return `${words || 'image'}-${id.slice(-6)}.${EXTENSIONS[mime] ?? 'bin'}`;
}
