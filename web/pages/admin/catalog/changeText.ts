import type { TFunction } from 'i18next';
import type { AdminCatalogProposal } from '../../../lib/answers.ts';
import { textsOf } from '../../../lib/translation.tsx';

type Change = Pick<AdminCatalogProposal['changes'][number], 'thing' | 'aspect'>;

/** What a catalog itself calls something: words in it mean nothing. */
const NAMES: ReadonlySet<string> = new Set([
  'name',
  'list',
  'target',
  'kind',
  'type',
  'address',
  'key',
  'headers',
  'options',
  'tokenizer',
  'sizes',
  'names at backends',
  'passed fields',
  'clients may choose',
  'hides',
]);

/** The first aspect of a thing stands for it as a whole; that of others is a name. */
const TOLD_BY_PRICE: ReadonlySet<string> = new Set(['model', 'price']);

/**
 * What a change is from or to, in the reader's language. The server writes these texts, and the command line prints them;
 * here they are read phrase by phrase, and what is no phrase stays: amounts, names, and what a newer server says.
 */
export function changeText({ thing, aspect }: Change, text: string, t: TFunction): string {
  const words = textsOf(t, 'catalog.words');
  const isName = aspect === null ? !TOLD_BY_PRICE.has(thing) : NAMES.has(aspect);
  if (Object.hasOwn(words, text) && !(isName && text !== 'none')) return words[text] ?? text;
  if (isName) return text;
  const items = textsOf(t, 'models.items');
  const phrases = textsOf(t, 'catalog.phrases');
  const labelled = text
    .replaceAll(PRICED, (item) => items[item] ?? item)
    .replaceAll(PER, (whole, item: string) => lowered(items[item.replaceAll(' ', '_')]) ?? whole)
    // The label of such a price says of what it is one.
    .replaceAll(/(?<=\d) each\b/g, '');
  return Object.entries(phrases).reduce((told, [phrase, said]) => {
    let place = 0;
    return told.replaceAll(
      patternOf(phrase),
      said.replaceAll('#', () => `$${++place}`),
    );
  }, labelled);
}

function lowered(label: string | undefined): string | undefined {
  return label && label.charAt(0).toLowerCase() + label.slice(1);
}

/** The key of a price before its amount: `cache_write 1.25`, `input above 1000 2.00`. */
const PRICED = /(?<=^|, )[a-z_]+(?= (?:above )?\d)/g;

/** The same after it: `0.01 per input image`. */
const PER = /(?<=\d )per ([a-z ]+)(?=,| \(|$)/g;

/** `#` stands for a number or a size. */
function patternOf(phrase: string): RegExp {
  const literal = phrase.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(literal.replaceAll('#', String.raw`(\d[\d.,]*(?<!,))`), 'g');
}

/** What is changed: of a price group's own price the model, and for whom. */
export function changedName(
  { thing, name }: { readonly thing: string; readonly name: string },
  t: TFunction,
): string {
  const [, model, group] = (thing === 'price' && /^(\S+) for (\S+)$/.exec(name)) || [];
  return model === undefined || group === undefined ? name : t('catalog.priceFor', { model, group });
}
