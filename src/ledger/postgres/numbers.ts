import { storedFunction } from '../../store/stored-functions.ts';
import type { AdmissionRequest } from '../port.ts';
import { priceToText, type Price } from '../price.ts';
import { plainArray, textArray } from './batch.ts';
import { LOOK_UP_BY_KEY } from './sql-fragments.ts';
import { CallFailed, type LedgerPool, type Statement } from './pool.ts';

/**
 * The numbers of values that repeat in every request. A new one is given in a transaction of its own that waits for
 * the disk, before anything refers to it: an admission does not wait for the disk, and a crash of the database must
 * not lose a number that a running request uses, or give it to another value. Numbers never change afterwards.
 */
export class Numbers {
  readonly #pool: LedgerPool;
  readonly #node: string;
  readonly #known: Record<Kind, Map<string, number>> = {
    prices: new Map(),
    routes: new Map(),
    backends: new Map(),
    nodes: new Map(),
  };

  constructor(pool: LedgerPool, node: string) {
    this.#pool = pool;
    this.#node = node;
  }

  /** Makes sure that every number of these admissions is known. */
  async needForAdmissions(requests: readonly AdmissionRequest[]): Promise<void> {
    const unknown = new NumberedValues();
    unknown.nodes.add(this.#node);
    for (const request of requests) {
      unknown.prices.set(priceToText(request.price), request.price);
      unknown.routes.set(routeKey(request), request);
    }
    await this.#need(unknown);
  }

  async needForBackends(names: readonly (string | undefined)[]): Promise<void> {
    const unknown = new NumberedValues();
    for (const name of names) if (name !== undefined) unknown.backends.add(name);
    await this.#need(unknown);
  }

  price(price: Price): number {
    return this.#number('prices', priceToText(price));
  }

  route(request: Pick<AdmissionRequest, 'rate' | 'endpoint' | 'model'>): number {
    return this.#number('routes', routeKey(request));
  }

  backend(name: string): number {
    return this.#number('backends', name);
  }

  get node(): number {
    return this.#number('nodes', this.#node);
  }

  /** After the database has lost something: it may have lost numbers too, so they are asked for again. */
  forget(): void {
    for (const known of Object.values(this.#known)) known.clear();
  }

  #number(kind: Kind, key: string): number {
    const number = this.#known[kind].get(key);
    if (number === undefined) throw new Error(`no number of ${kind} is known for '${key}'`);
    return number;
  }

  /** Asking twice gives the same numbers, so an answer that was lost is simply asked for again. */
  async #ask(values: NumberedValues): Promise<NumbersRow | undefined> {
    const parameters = values.parameters();
    try {
      return (await this.#pool.call<NumbersRow>(NUMBERS, parameters))[0];
    } catch (error) {
      if (!(error instanceof CallFailed) || error.outcome !== 'unknown') throw error;
      return (await this.#pool.call<NumbersRow>(NUMBERS, parameters))[0];
    }
  }

  async #need(values: NumberedValues): Promise<void> {
    for (const kind of KINDS) {
      for (const key of values[kind].keys()) if (this.#known[kind].has(key)) values[kind].delete(key);
    }
    if (KINDS.every((kind) => values[kind].size === 0)) return;
    const row = await this.#ask(values);
    for (const kind of KINDS) {
      const known = this.#known[kind];
      if (known.size >= MAX_KNOWN) known.clear();
      const numbers = row?.[kind] ?? [];
      for (const [index, key] of [...values[kind].keys()].entries()) {
        const number = numbers[index];
        if (number !== undefined) known.set(key, number);
      }
    }
  }
}

/** Values that need a number. */
export class NumberedValues {
  readonly prices = new Map<string, Price>();
  readonly routes = new Map<string, Pick<AdmissionRequest, 'rate' | 'endpoint' | 'model'>>();
  readonly backends = new Set<string>();
  readonly nodes = new Set<string>();

  /** The arguments of `ledger_numbers`. */
  parameters(): unknown[] {
    const prices = [...this.prices.values()];
    const tokens = prices.map((price) => (price.kind === 'tokens' ? price : NO_TOKENS));
    const routes = [...this.routes.values()];
    return [
      textArray([...this.prices.keys()]),
      plainArray(tokens.map(({ input }) => input)),
      plainArray(tokens.map(({ cachedInput }) => cachedInput)),
      plainArray(tokens.map(({ output }) => output)),
      plainArray(prices.map((price) => (price.kind === 'images' ? price.image : 0))),
      textArray(routes.map(({ rate }) => rate)),
      textArray(routes.map(({ endpoint }) => endpoint)),
      textArray(routes.map(({ model }) => model)),
      textArray([...this.backends]),
      textArray([...this.nodes]),
    ];
  }
}

type Kind = 'prices' | 'routes' | 'backends' | 'nodes';
const KINDS: readonly Kind[] = ['prices', 'routes', 'backends', 'nodes'];
const NO_TOKENS = { input: 0, cachedInput: 0, output: 0 };
/** Far more than a catalog has; a batch that needs more numbers than this at once does not exist. */
const MAX_KNOWN = 5_000;

export function routeKey({ rate, endpoint, model }: Pick<AdmissionRequest, 'rate' | 'endpoint' | 'model'>) {
  return `${rate}\0${endpoint}\0${model}`;
}

interface NumbersRow extends Record<Kind, readonly number[] | null> {}

/**
 * The numbers of values that repeat, in the order of the arguments; those without a number get one. A node that comes
 * at the same moment waits for the other's commit, which waits for the disk.
 */
export const LEDGER_NUMBERS = storedFunction(`
CREATE FUNCTION ledger_numbers(
  p_value text[], p_input bigint[], p_cached bigint[], p_output bigint[], p_image bigint[], o_kind text[], o_endpoint text[],
  o_model text[], b_name text[], n_name text[],
  OUT prices integer[], OUT routes integer[], OUT backends integer[], OUT nodes integer[]
) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO price (value, input, cached_input, output, image)
    SELECT * FROM unnest(p_value, p_input, p_cached, p_output, p_image) AS q (value, input, cached, output, image)
    WHERE NOT EXISTS (SELECT 1 FROM price p WHERE p.value = q.value) ORDER BY value ON CONFLICT DO NOTHING;
  INSERT INTO route (kind, endpoint, model)
    SELECT * FROM unnest(o_kind, o_endpoint, o_model) AS q (kind, endpoint, model)
    WHERE NOT EXISTS (SELECT 1 FROM route o WHERE o.endpoint = q.endpoint AND o.model = q.model AND o.kind = q.kind)
    ORDER BY endpoint, model, kind ON CONFLICT DO NOTHING;
  INSERT INTO backend (name)
    SELECT name FROM unnest(b_name) AS q (name)
    WHERE NOT EXISTS (SELECT 1 FROM backend b WHERE b.name = q.name) ORDER BY name ON CONFLICT DO NOTHING;
  INSERT INTO node (name)
    SELECT name FROM unnest(n_name) AS q (name)
    WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.name = q.name) ORDER BY name ON CONFLICT DO NOTHING;
  SELECT array_agg(p.id ORDER BY place) INTO prices
    FROM unnest(p_value) WITH ORDINALITY AS q (value, place) JOIN price p ON p.value = q.value;
  SELECT array_agg(o.id ORDER BY place) INTO routes
    FROM unnest(o_kind, o_endpoint, o_model) WITH ORDINALITY AS q (kind, endpoint, model, place)
    JOIN route o ON o.endpoint = q.endpoint AND o.model = q.model AND o.kind = q.kind;
  SELECT array_agg(b.id ORDER BY place) INTO backends
    FROM unnest(b_name) WITH ORDINALITY AS q (name, place) JOIN backend b ON b.name = q.name;
  SELECT array_agg(n.id ORDER BY place) INTO nodes
    FROM unnest(n_name) WITH ORDINALITY AS q (name, place) JOIN node n ON n.name = q.name;
END $$`);

const NUMBERS: Statement = {
  name: LEDGER_NUMBERS.name,
  text: `SELECT * FROM ${LEDGER_NUMBERS.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};
