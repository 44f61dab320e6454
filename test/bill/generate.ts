import { CLASSES } from './all-classes.ts';
import { planOf, variantsOf, type BillClass, type Variant } from './classes.ts';
import type { Plan } from './plan.ts';
import { Random } from './random.ts';

/**
 * That many plans, or a few more, from one seed: every class in turn, and within a class its dialects, forms and stages
 * in a shuffled order, so that a small run has some of each and a large one has all.
 */
export function generatePlans(seed: number, count: number): Plan[] {
  const random = new Random(seed);
  const piles = CLASSES.map((one) => ({ one, pile: random.shuffled(variantsOf(one)) }));
  const chosen: { one: BillClass; variant: Variant }[] = [];
  const share = Math.ceil(count / CLASSES.length);
  for (const { one, pile } of piles)
    for (let index = 0; index < share; index++) {
      const variant = pile[index % pile.length];
      if (variant) chosen.push({ one, variant });
    }
  return random.shuffled(chosen).map(({ one, variant }, id) => planOf(one, variant, id, random));
}
