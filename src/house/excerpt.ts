import type { Section } from './guides.ts';
import { searchTermsOf } from './terms.ts';

/**
 * The part of a section that answers best: all of it if it is short, otherwise its lead and the blocks nearest to the
 * question.
 */
export function excerptOf(section: Section, question: string, characters: number): string {
  if (section.body.length <= characters) return section.body;
  const wanted = new Set(searchTermsOf(question));
  const blocks = blocksOf(section.body).map((text, place) => ({ text, place, worth: worthOf(text, wanted) }));
  // The first block introduces the section; without it the others lack context.
  const [lead, ...others] = blocks;
  if (!lead) return '';
  const chosen = [lead];
  let left = characters - lead.text.length;
  for (const block of others.toSorted((a, b) => b.worth - a.worth || a.place - b.place)) {
    const text = fit(block.text, wanted, left);
    if (text === undefined) continue;
    chosen.push({ ...block, text });
    left -= text.length;
  }
  return chosen
    .toSorted((a, b) => a.place - b.place)
    .map((block) => block.text)
    .join('\n\n');
}

/** The first sentence as plain text, for a list of links. */
export function leadOf(section: Section): string {
  const prose = blocksOf(section.body).find((block) => !/^(```|\||[-*] |\d+\. )/.test(block)) ?? '';
  // A colon within code ends nothing.
  const sentence = /^(?:`[^`]*`|[^`])*?[.:!?](?=\s|$)/.exec(prose.replaceAll('\n', ' '))?.[0] ?? prose;
  return shortened(sentence.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/:$/, '.'));
}

const MAX_LEAD = 160;

/** Whole words and whole code. */
function shortened(text: string): string {
  if (text.length <= MAX_LEAD) return text;
  const cut = text.slice(0, MAX_LEAD);
  const whole = cut.split('`').length % 2 === 0 ? cut.slice(0, cut.lastIndexOf('`')) : cut;
  return `${whole.slice(0, Math.max(whole.lastIndexOf(' '), 0))} …`;
}

/** Paragraphs, lists, tables and code blocks; a code block is never split. */
function blocksOf(body: string): string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let fenced = false;
  const close = (): void => {
    if (current.length > 0) blocks.push(current.join('\n'));
    current = [];
  };
  for (const line of body.split('\n')) {
    if (line.startsWith('```')) {
      if (!fenced) close();
      fenced = !fenced;
      current.push(line);
      if (!fenced) close();
    } else if (!fenced && line.trim() === '') close();
    else current.push(line);
  }
  close();
  return blocks;
}

/** A table keeps its head and the rows about the question; anything else fits or is left out. */
function fit(block: string, wanted: ReadonlySet<string>, room: number): string | undefined {
  if (block.length <= room) return block;
  if (!block.startsWith('|')) return undefined;
  const [head = '', rule = '', ...rows] = block.split('\n');
  const about = rows.filter((row) => worthOf(row, wanted) > 0);
  const text = [head, rule, ...about].join('\n');
  return about.length > 0 && text.length <= room ? text : undefined;
}

function worthOf(text: string, wanted: ReadonlySet<string>): number {
  const terms = new Set(searchTermsOf(text));
  let shared = 0;
  for (const term of wanted) if (terms.has(term)) shared++;
  return shared;
}
