/** A command that a page tells its reader to type. */
export interface PageCommand {
  /** One line, or all of a block for a shell. */
  readonly text: string;
}

const PROGRAMS =
  'tollgate|curl|bun|npm|npx|node_modules/\\S+|sudo|apt|install|systemctl|journalctl|openssl|docker|useradd|kill|cp|createdb|dropdb|psql|git|pg_\\w+';
const ASSIGNMENT = '[A-Z_]+=(?:\\$\\([^)]*\\)|[^\\s`])+ ';
const BLOCK = /^( *)```sh\n([^]*?)^ *```$/gm;
const INLINE = new RegExp(`\`((?:${ASSIGNMENT})*(?:${PROGRAMS}) [^\`]+)\``, 'g');

/** The blocks for a shell, and what begins with a program's name within sentences; each text once, in the page's order. */
export function commandsOf(markdown: string): PageCommand[] {
  const found = new Map<string, number>();
  const add = (text: string, index: number): void => {
    if (!found.has(text)) found.set(text, index);
  };
  for (const { 1: indent = '', 2: block = '', index } of markdown.matchAll(BLOCK))
    add(block.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trimEnd(), index);
  // A block's own lines are no sentences.
  const sentences = markdown.replaceAll(/^ *```[^]*?^ *```$/gm, (block) => ' '.repeat(block.length));
  for (const { 1: text = '', index } of sentences.matchAll(INLINE)) add(text, index);
  return [...found].toSorted(([, a], [, b]) => a - b).map(([text]) => ({ text }));
}
