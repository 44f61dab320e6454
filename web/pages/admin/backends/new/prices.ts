import type { BodyOf } from '../../../../../src/console/contract/routes.ts';
import { amountOf } from '../../prices/edits.ts';

type Question = BodyOf<'POST /api/console/admin/backends/preview'>;
type OwnPrice = NonNullable<Question['ownPrice']>;

/** What is charged and what it costs, by what models make; an empty text: those models are left out, or nobody knows. */
export const PRICE_ROWS = {
  chat: ['input', 'output'],
  embedding: ['embedding'],
  image: ['image'],
} as const;

type Part = (typeof PRICE_ROWS)[keyof typeof PRICE_ROWS][number];

export interface EnteredPrices {
  readonly price: Readonly<Record<Part, string>>;
  readonly cost: Readonly<Record<Part, string>>;
  readonly isFree: boolean;
  /** Abilities of its chat models, where nobody knows them. */
  readonly can: Readonly<Record<'vision' | 'tools' | 'reasoning', boolean>>;
}

const EMPTY = { input: '', output: '', embedding: '', image: '' };

export const NO_PRICES: EnteredPrices = {
  price: EMPTY,
  cost: EMPTY,
  isFree: false,
  can: { vision: false, tools: false, reasoning: false },
};

export type PriceProblem = 'missing' | 'half' | 'zero' | 'bad';

/** The question for the server, or the mistakes in the texts. */
export function questionOf(
  { price, cost, isFree, can }: EnteredPrices,
  isRequired: boolean,
): { readonly question: Partial<Question>; readonly problem: PriceProblem | undefined } {
  const assumed = Object.values(can).includes(true) ? { assumed: can } : {};
  if (isFree) return { question: { ...assumed, ownPrice: 'free' }, problem: undefined };
  const all = [...Object.values(price), ...Object.values(cost)];
  const problem = (['chat', 'embedding', 'image'] as const)
    .map((kind) => problemOf(kind, { price, cost }))
    .find((found) => found !== undefined);
  if (all.some((text) => text.trim() !== '' && amountOf(text) === undefined))
    return { question: {}, problem: 'bad' };
  if (problem) return { question: {}, problem };
  const ownPrice = {
    ...(isGiven(price.input) && {
      chat: {
        price: { input: amount(price.input), output: amount(price.output) },
        ...(isGiven(cost.input) && { cost: { input: amount(cost.input), output: amount(cost.output) } }),
      },
    }),
    ...(isGiven(price.embedding) && {
      embedding: {
        price: { input: amount(price.embedding) },
        ...(isGiven(cost.embedding) && { cost: { input: amount(cost.embedding) } }),
      },
    }),
    ...(isGiven(price.image) && {
      image: {
        price: { image: amount(price.image) },
        ...(isGiven(cost.image) && { cost: { image: amount(cost.image) } }),
      },
    }),
  } satisfies OwnPrice;
  if (Object.keys(ownPrice).length === 0)
    return { question: assumed, problem: isRequired ? 'missing' : undefined };
  return { question: { ...assumed, ownPrice }, problem: undefined };
}

function problemOf(
  kind: keyof typeof PRICE_ROWS,
  { price, cost }: Pick<EnteredPrices, 'price' | 'cost'>,
): PriceProblem | undefined {
  const parts: readonly Part[] = PRICE_ROWS[kind];
  const [charged, costs] = [parts.map((part) => price[part]), parts.map((part) => cost[part])];
  const isHalf = (texts: readonly string[]): boolean => texts.some(isGiven) && !texts.every(isGiven);
  if (isHalf(charged) || isHalf(costs) || (costs.some(isGiven) && !charged.some(isGiven))) return 'half';
  return charged.every(isGiven) && charged.every((text) => Number(amount(text)) === 0) ? 'zero' : undefined;
}

function isGiven(text: string): boolean {
  return text.trim() !== '';
}

function amount(text: string): string {
  return amountOf(text) ?? '';
}
