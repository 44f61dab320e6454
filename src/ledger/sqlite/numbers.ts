import type { Price } from '../price.ts';
import { priceToText } from '../price.ts';
import type { Statements } from './statements.ts';

/**
 * The numbers of values that repeat in every request. A number is given in the transaction that first uses it, so that
 * both reach the disk or neither does. They never change, so nothing that others write makes them stale; but a transaction
 * that was rolled back has given none, and then all of them are forgotten.
 */
export class Numbers {
  readonly #statements: Statements;
  readonly #prices = new Map<string, number>();
  readonly #routes = new Map<string, Map<string, number>>();
  readonly #backends = new Map<string, number>();
  readonly #nodes = new Map<string, number>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  price(price: Price): number {
    const { findPrice, addPrice } = this.#statements;
    const text = priceToText(price);
    return remembered(this.#prices, text, () => {
      const tokens = price.kind === 'tokens' ? price : NO_TOKENS;
      const image = price.kind === 'images' ? price.image : 0;
      return (
        findPrice.get(text) ?? addPrice.get(text, tokens.input, tokens.cachedInput, tokens.output, image)
      );
    });
  }

  route(kind: string, endpoint: string, model: string): number {
    const { findRoute, addRoute } = this.#statements;
    let models = this.#routes.get(endpoint);
    if (!models || models.size >= MAX_KNOWN) this.#routes.set(endpoint, (models = new Map()));
    return remembered(
      models,
      `${kind} ${model}`,
      () => findRoute.get(endpoint, model, kind) ?? addRoute.get(kind, endpoint, model),
    );
  }

  backend(name: string): number {
    const { findBackend, addBackend } = this.#statements;
    return remembered(this.#backends, name, () => findBackend.get(name) ?? addBackend.get(name));
  }

  node(name: string): number {
    const { findNode, addNode } = this.#statements;
    return remembered(this.#nodes, name, () => findNode.get(name) ?? addNode.get(name));
  }

  forget(): void {
    for (const known of [this.#prices, this.#routes, this.#backends, this.#nodes]) known.clear();
  }
}

const NO_TOKENS = { input: 0, cachedInput: 0, output: 0 };
const MAX_KNOWN = 1_000;

function remembered(known: Map<string, number>, key: string, find: () => { id: number } | null): number {
  const number = known.get(key);
  if (number !== undefined) return number;
  const found = find();
  if (!found) throw new Error(`no number was given to '${key}'`);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, found.id);
  return found.id;
}
