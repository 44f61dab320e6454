import { Glob } from 'bun';
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  [/\btop(?:ping)? (?:it |the balance )?up\b(?! by)/i, 'add funds'],
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
    ...sentencesOf(text)
      .filter((sentence) => sentence.split(/\s+/).length > MOST_WORDS)
      .map((sentence) => `${key}: more than ${MOST_WORDS} words: ${sentence}`),
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
  const mails = (Object.keys(MAIL_SAMPLES) as MailTemplate[]).flatMap((template) => {
    const site = { name: 'Gate', url: 'https://gate.example.com' };
    const { subject, text } = renderMail(template, MAIL_SAMPLES[template], { language: 'en', site });
    return [subject, ...text.split('\n')].map((line) => ({ key: `mail.${template}`, text: line }));
  });
  return [
    ...textsOf('en', { ...en, ...enOperator, ...enPlayground, ...enTeam }),
    ...textsOf('public', TEXTS_EN).map(({ key, text }) => ({
      key,
      text: text.replaceAll(/\$\{[^}]*\}/g, '…'),
    })),
    ...mails,
  ];
}

/** Prose has more words than labels; these are wrong there too. */
const REPLACED_IN_PROSE: ReadonlySet<string> = new Set([
  'backend',
  'email',
  'image',
  'rejected requests',
  'add funds',
  'not an invoice',
  'what’s available',
  'try again in … seconds',
]);

test('the README, the guides and the mails have the same names for things', () => {
  const words = REPLACED.filter(([, better]) => REPLACED_IN_PROSE.has(better));
  const paths = ['README.md', ...filesOf('docs/guide/*.md'), 'src/outbox/mail-texts-en.ts'];
  const found = paths.flatMap((path) =>
    proseIn(path).flatMap((text) =>
      words.filter(([old]) => old.test(text)).map(([, better]) => `${path}: ${text} → ${better}`),
    ),
  );
  expect(found).toEqual([]);
});

/** Without code, which has the names of fields. */
function proseIn(path: string): string[] {
  if (!path.endsWith('.md')) return textIn(path);
  const text = readFileSync(join(ROOT, path), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return text.replaceAll(/`[^`]*`|\]\([^)]*\)/g, '').split('\n');
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
