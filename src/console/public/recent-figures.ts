import { modelFigures, type ModelFigures } from '../../activity/model-figures.ts';
import type { Clock } from '../../std/clock.ts';
import type { Store } from '../../store/store.ts';

const FRESH_MS = 60_000;
const MOST_KEPT = 2_000;

/** Figures of models, at most a minute old. A few rows are read for each; visitors share what was read. */
export class RecentFigures {
  readonly #parts: { readonly store: Store; readonly clock: Clock };
  readonly #kept = new Map<string, { readonly until: number; readonly figures: Promise<ModelFigures> }>();

  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** `undefined`: the store cannot be read now. */
  async of(endpoint: string, model: string): Promise<ModelFigures | undefined> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const key = `${endpoint} ${model}`;
    const known = this.#kept.get(key);
    if (known && known.until > now) return await known.figures.catch(() => undefined);
    const figures = modelFigures(store.db, { endpoint, model }, now);
    this.#kept.delete(key);
    this.#kept.set(key, { until: now + FRESH_MS, figures });
    this.#forgetOldest();
    return await figures.catch(() => {
      this.#kept.delete(key);
      return undefined;
    });
  }

  #forgetOldest(): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}
