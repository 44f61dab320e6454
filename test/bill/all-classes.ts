import { APART } from './classes-apart.ts';
import { DIMENSIONS } from './classes-dimensions.ts';
import { FINISHED } from './classes-finished.ts';
import { LEFT } from './classes-left.ts';
import { REFUSED } from './classes-refused.ts';
import { PRICED } from './classes-priced.ts';
import type { BillClass } from './classes.ts';

export const CLASSES: readonly BillClass[] = [
  ...FINISHED,
  ...PRICED,
  ...DIMENSIONS,
  ...LEFT,
  ...APART,
  ...REFUSED,
];
