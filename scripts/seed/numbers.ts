import type { Kysely } from 'kysely';
import { priceToText, type Price } from '../../src/ledger/price.ts';
import type { Schema } from '../../src/store/schema.ts';

export const SEED_BACKEND = 'house';

interface SeededRoute {
  readonly endpoint: string;
  readonly model: string;
  readonly price: Price;
}

/** The numbers by which receipts refer to what repeats. */
export interface SeedNumbers {
  readonly node: number;
  readonly backend: number;
  price(price: Price): number;
  route(route: SeededRoute): number;
}

/** Gives every value a number, unless it has one. */
export async function seedNumbers(db: Kysely<Schema>, routes: readonly SeededRoute[]): Promise<SeedNumbers> {
  const named = async (table: 'node' | 'backend', name: string): Promise<number> => {
    await db
      .insertInto(table)
      .values({ name })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await db.selectFrom(table).select('id').where('name', '=', name).executeTakeFirstOrThrow()).id;
  };
  for (const { endpoint, model, price } of routes) {
    await db
      .insertInto('route')
      .values({ kind: 'chat', endpoint, model })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await db
      .insertInto('price')
      .values(priceRow(price))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  const prices = await db.selectFrom('price').select(['id', 'value']).execute();
  const known = await db
    .selectFrom('route')
    .select(['id', 'endpoint', 'model'])
    .where('kind', '=', 'chat')
    .execute();
  const priceIds = new Map(prices.map(({ id, value }) => [value, id]));
  const routeIds = new Map(known.map(({ id, endpoint, model }) => [`${endpoint} ${model}`, id]));
  return {
    node: await named('node', 'seed'),
    backend: await named('backend', SEED_BACKEND),
    price: (price) => priceIds.get(priceToText(price)) ?? 0,
    route: ({ endpoint, model }) => routeIds.get(`${endpoint} ${model}`) ?? 0,
  };
}

function priceRow(price: Price) {
  const tokens = price.kind === 'tokens' ? price : { input: 0, cachedInput: 0, output: 0 };
  return {
    value: priceToText(price),
    input: tokens.input,
    cached_input: tokens.cachedInput,
    output: tokens.output,
    image: price.kind === 'images' ? price.image : 0,
  };
}
