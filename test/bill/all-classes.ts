import { APART } from './classes-apart.ts';
import { FINISHED } from './classes-finished.ts';
import { LEFT } from './classes-left.ts';
import { REFUSED } from './classes-refused.ts';
import { PRICED } from './classes-priced.ts';
import type { BillClass } from './classes.ts';
import { isFollowed } from './rules.ts';

const ALL: readonly BillClass[] = [...FINISHED, ...PRICED, ...LEFT, ...APART, ...REFUSED];

export const CLASSES: readonly BillClass[] = ALL.filter(isFollowed);
export const WAITING: readonly BillClass[] = ALL.filter((one) => !isFollowed(one));
