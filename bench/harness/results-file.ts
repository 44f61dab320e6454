import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PATH = join(import.meta.dir, '../results.md');
const SECTIONS = [
  'speed',
  'peers',
  'scale-streams',
  'scale-accounts',
  'scale-requests',
  'scale-verify',
  'scale-catalog',
  'scale-memory',
  'soak',
] as const;
type Section = (typeof SECTIONS)[number];

const TITLE = `# Results

Written by \`npm run bench\` (speed), \`npm run bench:peers\` (other gateways), \`bun bench/scale.ts\` and \`bun bench/soak.ts\`; each replaces its own section.
`;

/** Replaces one section of \`bench/results.md\` and leaves the others as they are. */
export function writeSection(section: Section, markdown: string): void {
  const text = existsSync(PATH) ? readFileSync(PATH, 'utf8') : '';
  const sections = SECTIONS.map((one) => (one === section ? markdown.trim() : sectionOf(text, one)));
  const written = SECTIONS.flatMap((one, index) => {
    const content = sections[index];
    return content === undefined ? [] : [`${mark(one)}\n\n${content}\n`];
  });
  writeFileSync(PATH, `${TITLE}\n${written.join('\n')}`);
  console.log(`written to ${PATH}`);
}

function sectionOf(text: string, section: Section): string | undefined {
  const start = text.indexOf(mark(section));
  if (start === -1) return undefined;
  const rest = text.slice(start + mark(section).length);
  const end = rest.indexOf('<!-- section');
  return (end === -1 ? rest : rest.slice(0, end)).trim();
}

function mark(section: Section): string {
  return `<!-- section ${section} -->`;
}
