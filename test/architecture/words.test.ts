import { Glob } from 'bun';
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../../src/api/openapi.ts';
import { OPERATIONS } from '../../src/api/operations.ts';
import { COMMANDS } from '../../src/cli/cli.ts';
import { TEXTS_DE } from '../../src/console/public/texts-de.ts';
import { TEXTS_EN } from '../../src/console/public/texts-en.ts';
import { renderMail } from '../../src/outbox/mail-channel.ts';
import type { MailTemplate } from '../../src/outbox/mail-data.ts';
import { MAIL_SAMPLES } from '../../src/outbox/testing/mail-samples.ts';
import { de } from '../../web/locales/de/index.ts';
import { deOperator } from '../../web/locales/de/operator.ts';
import { dePlayground } from '../../web/locales/de/playgroundTexts.ts';
import { deTeam } from '../../web/locales/de/team.ts';
import { en } from '../../web/locales/en/index.ts';
import { enOperator } from '../../web/locales/en/operator.ts';
import { enPlayground } from '../../web/locales/en/playgroundTexts.ts';
import { enTeam } from '../../web/locales/en/team.ts';

const ROOT = join(import.meta.dir, '../..');

/** What the console said before, and strangers did not understand. */
const OLD_PHRASES = [
  'the gate is down',
  'what stops you first',
  'chat a minute',
  'images a minute',
  'present password',
  'take this text over',
  'balance to give away',
  'doors to open',
  'what is not here cannot be spent',
  'nobody can show it to you again',
  'we included',
  'all that failed',
  'open for traffic',
  'answer a conversation',
];

/** Phrases that are wrong on a page, and words that are wrong where they are the whole label; prose may have them. */
const OLD_ON_PAGES = ['client left', 'longest answer', 'rounded up once'];
const OLD_LABELS = new Set(['at once', 'cause', 'can', 'cut off', 'facts', 'its requests']);

test('no text of the console, in either language, falls back to a phrase that was replaced', () => {
  const found = [
    ...textsOf('en', { ...en, ...enOperator, ...enPlayground, ...enTeam }),
    ...textsOf('de', { ...de, ...deOperator, ...dePlayground, ...deTeam }),
  ].filter(({ text }) => {
    const lower = text.toLowerCase();
    return (
      [...OLD_PHRASES, ...OLD_ON_PAGES].some((phrase) => lower.includes(phrase)) ||
      OLD_LABELS.has(lower.trim())
    );
  });
  expect(found).toEqual([]);
});

test('no page, no message of the API or the command line, and no guide falls back to one either', () => {
  const shown = [
    ...filesOf('web/pages/**/*.tsx'),
    ...filesOf('src/{api,cli,console,http,outbox,relay}/**/*.ts').filter(
      (path) => !path.endsWith('.test.ts'),
    ),
    ...filesOf('docs/guide/*.md'),
  ];
  const found = shown.flatMap((path) =>
    textIn(path).flatMap((text) =>
      OLD_PHRASES.filter((phrase) => text.toLowerCase().includes(phrase)).map((phrase) => ({ path, phrase })),
    ),
  );
  expect(found).toEqual([]);
});

/** What was replaced, and by what: one name for each thing, in the words of the product. */
const REPLACED: readonly (readonly [found: RegExp, better: string])[] = [
  [/upstream/i, 'backend'],
  [/e-mail|(?<!`|x-)\bmails?\b(?! server|-|\.)/i, 'email'],
  [/\bpictures?\b/i, 'image'],
  [/refused (?:calls?|requests?)|calls? (?:that )?(?:was|were) refused/i, 'rejected requests'],
  [/\brequests\b[^.]*\bare refused/i, 'requests are rejected'],
  [/(?<!time to (?:the )?|for the )first token/i, 'time to first token'],
  [/whole answer/i, 'total time'],
  [/used up or over/i, 'used or expired'],
  [/(?<!automatic )\btop(?:ping)? (?:it |the balance )?up\b(?! by)/i, 'add funds'],
  [/\badd(?:ing)? balance\b(?! alone)/i, 'add funds'],
  [/\bretry (?:later|soon)\b|wait and retry/i, 'try again in … seconds'],
  [/\bit (?:gets|needs)\b|\bone that\b|\bthey are\b/i, 'the thing itself as the subject'],
  [/more than (?:it|they) brought|that brought/i, 'lost, revenue'],
  [/total overrun/i, 'charged beyond holds'],
  [/what can be had/i, 'what’s available'],
  [/\bno invoice\b/i, 'not an invoice'],
  [/your next limit/i, 'next limit'],
  [/choose another\b(?! (?:model|range|one))/i, 'change …'],
  [/to say something/i, 'available after … requests'],
  [/opens into/i, 'select …'],
  [/\bgo(?:es)? on\b/i, 'continue'],
  [/\bwhoever\b|\bsomebody\b|\bone[’']s own\b/i, 'someone, everyone who, the person'],
  [/\b(?:a|an) [a-z]+ of (?:its|your|their) own\b/i, 'its own, your own'],
  [/\bonce it is\b|\bwhat has been\b|\bthat had been\b/i, 'when, what was'],
  [/\bwrite to (?:us|the operator)\b/i, 'contact'],
  [/\bat once\b/i, 'immediately, together'],
];
const MOST_WORDS = 20;

test('every English text is short, and has one name for each thing', () => {
  const texts = englishTexts();
  expect(texts.length).toBeGreaterThan(2_300);
  const found = texts.flatMap(({ key, text }) => [
    ...REPLACED.filter(([words]) => words.test(text)).map(([, better]) => `${key}: ${text} → ${better}`),
    ...tooLong(text).map((sentence) => `${key}: more than ${MOST_WORDS} words: ${sentence}`),
  ]);
  expect(found).toEqual([]);
});

/** Words of German texts that were replaced: one name for each thing there too. */
const REPLACED_IN_GERMAN: readonly (readonly [found: RegExp, better: string])[] = [
  [/upstream/i, 'Backend'],
  [/(?<!E-)\bMails?\b/, 'E-Mail'],
  [/\b(?:erste[nr]?|(?:vor )?de[mr]) Aufruf\b(?! der)/i, 'Anfrage'],
  [/keine Rechnung dar/i, 'keine Rechnung'],
];

test('every German text is as short, and has one name for each thing too', () => {
  const texts = [
    ...textsOf('de', { ...de, ...deOperator, ...dePlayground, ...deTeam }),
    ...textsOf('public', TEXTS_DE),
    ...mailTexts('de'),
  ];
  expect(texts.length).toBeGreaterThan(2_300);
  const found = texts.flatMap(({ key, text }) => [
    ...REPLACED_IN_GERMAN.filter(([words]) => words.test(text)).map(
      ([, better]) => `${key}: ${text} → ${better}`,
    ),
    ...tooLong(text).map((sentence) => `${key}: more than ${MOST_WORDS} words: ${sentence}`),
  ]);
  expect(found).toEqual([]);
});

test('no file of texts is left out of what is read here', () => {
  const read = new Set(englishTexts().map(({ key }) => key.split('.')[1]));
  const left = readdirSync(join(ROOT, 'web/locales/en')).flatMap((file) => {
    const names = [...readFileSync(join(ROOT, 'web/locales/en', file), 'utf8').matchAll(/^ {2}(\w+): \{$/gm)];
    return names.flatMap(([, name = '']) => (read.has(name) ? [] : [`${file}: ${name}`]));
  });
  expect(left).toEqual([]);
});

/** Of the console, the public pages and the emails, as people read them. */
function englishTexts(): { key: string; text: string }[] {
  return [
    ...textsOf('en', { ...en, ...enOperator, ...enPlayground, ...enTeam }),
    ...textsOf('public', TEXTS_EN).map(({ key, text }) => ({
      key,
      text: text.replaceAll(/\$\{[^}]*\}/g, '…'),
    })),
    ...mailTexts('en'),
  ];
}

function mailTexts(language: 'en' | 'de'): { key: string; text: string }[] {
  return (Object.keys(MAIL_SAMPLES) as MailTemplate[]).flatMap((template) => {
    const site = { name: 'Gate', url: 'https://gate.example.com' };
    const { subject, text } = renderMail(template, MAIL_SAMPLES[template], { language, site });
    return [subject, ...text.split('\n')].map((line) => ({ key: `mail.${template}`, text: line }));
  });
}

/** What a guide may say and a label may not: prose refers back to its sentence before. */
const ONLY_IN_LABELS: ReadonlySet<string> = new Set([
  'the thing itself as the subject',
  'time to first token',
]);
const IN_PROSE = REPLACED.filter(([, better]) => !ONLY_IN_LABELS.has(better));

/** Pages that are read from their beginning: customers', those of the first day, and operators' ways to do something. */
const GUIDES = [
  'README.md',
  ...filesOf('docs/guide/*.md'),
  ...['operators', 'price-groups', 'prices-at-a-date', 'provision-customers'].map(
    (name) => `docs/${name}.md`,
  ),
];

test('the README and the guides have short sentences, and the same names for things', () => {
  const found = GUIDES.flatMap((path) => proseIn(path).flatMap((text) => wrongIn(path, text)));
  expect(found).toEqual([]);
});

test('so have the help of the command line, what commands and the start of a server say, and every setting', () => {
  const shown = filesOf('src/{cli,main}/**/*.ts').filter((path) => !/\.test\.ts$|\/testing\//.test(path));
  const said = shown.flatMap((path) => messagesIn(path).map((text) => ({ key: path, text })));
  const help = COMMANDS.flatMap(({ name, about, usage }) => [
    { key: `tollgate ${name}`, text: about },
    // Names of options: none says what was replaced.
    ...usage.split(' ').map((word) => ({ key: `tollgate ${name}`, text: word })),
  ]);
  expect(help.length).toBeGreaterThan(200);
  expect(said.length).toBeGreaterThan(300);
  expect([...help, ...said].flatMap(({ key, text }) => wrongIn(key, text))).toEqual([]);
});

test('and so have lines of the log: their events, and the names of their fields', () => {
  const sources = filesOf('src/**/*.ts').filter((path) => !path.endsWith('.test.ts'));
  const lines = sources.flatMap((path) => loggedIn(path).map((text) => ({ path, text })));
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.flatMap(({ path, text }) => wrongIn(path, text.replaceAll('_', ' ')))).toEqual([]);
});

test('and so have the messages of the API, and every summary and description of its document', () => {
  const sources = filesOf('src/**/*.ts').filter(
    (path) => !/\.test\.ts$|\/testing\/|^src\/(?:cli|main)\//.test(path),
  );
  const messages = sources.flatMap((path) => refusalsIn(path).map((text) => ({ key: path, text })));
  const described = descriptionsIn(JSON.parse(JSON.stringify(openApiDocument(OPERATIONS))));
  expect(messages.length).toBeGreaterThan(200);
  expect(described.length).toBeGreaterThan(300);
  expect(
    [...messages, ...described.map((text) => ({ key: 'openapi.json', text }))].flatMap(({ key, text }) =>
      wrongIn(key, text),
    ),
  ).toEqual([]);
});

/** What a client is told about a request that is refused. */
function refusalsIn(path: string): string[] {
  const source = readFileSync(join(ROOT, path), 'utf8');
  const told =
    /\b(?:Fault\(\s*(?:'\w+'|\w+),|(?:throw|return) \w+\()\s*('(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)/g;
  return [...source.matchAll(told)]
    .map(([, text = '']) => text.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, '…'))
    .filter((text) => /^[A-Z…].* .*[.!?]$/.test(text));
}

/** Pieces of code count as one word. */
function descriptionsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'string' && /^(?:summary|description)$/.test(name)
      ? inner.replaceAll(/`[^`]*`/g, '…').split('\n')
      : descriptionsIn(inner),
  );
}

function wrongIn(key: string, text: string): string[] {
  return [
    ...IN_PROSE.filter(([old]) => old.test(text)).map(([, better]) => `${key}: ${text} → ${better}`),
    ...tooLong(text).map((sentence) => `${key}: more than ${MOST_WORDS} words: ${sentence}`),
  ];
}

/** Lines and cells without code, which has the names of fields: a piece of it counts as one word. */
function proseIn(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return text
    .replaceAll(/`[^`]*`/g, '…')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/\n|\|/)
    .map((line) => line.replace(/^\s*(?:[-*]|\d+\.|#+)\s+/, '').trim());
}

/** Texts in quotes that are written for people: with spaces, and no list of options. */
function messagesIn(path: string): string[] {
  return textIn(path)
    .map((text) => text.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, '…'))
    .filter((text) => / /.test(text) && !/\[--|\n|=>|^[a-z_]+: /.test(text));
}

/** The event of each line that is logged, and the names that its fields have there. */
function loggedIn(path: string): string[] {
  const source = readFileSync(join(ROOT, path), 'utf8');
  const lines = /\b(?:log\??\.(?:info|warn|error)\(\s*|event: )'(\w+)'(?:,\s*\{([^{}]*)\})?/g;
  return [...source.matchAll(lines)].flatMap(([, event = '', fields = '']) => [
    event,
    ...fields.split(',').map((field) => /^\w*/.exec(field.trim())?.[0] ?? ''),
  ]);
}

function tooLong(text: string): string[] {
  return sentencesOf(text).filter((sentence) => sentence.split(/\s+/).length > MOST_WORDS);
}

function sentencesOf(text: string): string[] {
  return text.replaceAll(/\{\{[^}]*\}\}/g, '…').split(/(?<=[.!?])\s+/);
}

test('a count in a text has a form for one and a form for several', () => {
  const texts = textsOf('en', { ...en, ...enOperator, ...enPlayground, ...enTeam });
  const wrong = texts.filter(
    ({ key, text }) => /\{\{count\b[^}]*\}\} [a-z]+s\b/.test(text) && !/_(?:one|other)$/.test(key),
  );
  expect(wrong).toEqual([]);
});

function filesOf(pattern: string): string[] {
  return [...new Glob(pattern).scanSync(ROOT)].toSorted();
}

/** The lines of a guide; of a source file, its texts in quotes. */
function textIn(path: string): string[] {
  const source = readFileSync(join(ROOT, path), 'utf8');
  if (path.endsWith('.md')) return source.split('\n');
  return [...source.matchAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g)].map(
    ([text]) => text,
  );
}

function textsOf(language: string, tree: object, path = language): { key: string; text: string }[] {
  return Object.entries(tree).flatMap(([name, value]: [string, unknown]) => {
    const key = `${path}.${name}`;
    return typeof value === 'object' && value !== null
      ? textsOf(language, value, key)
      : [{ key, text: String(value) }];
  });
}
