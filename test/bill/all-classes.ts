import { APART } from './classes-apart.ts';
import { FINISHED } from './classes-finished.ts';
import { LEFT } from './classes-left.ts';
import type { BillClass } from './classes.ts';

const ALL: readonly BillClass[] = [...FINISHED, ...LEFT, ...APART];

export const CLASSES: readonly BillClass[] = process.env['BILL_ALL']
  ? ALL
  : ALL.filter(({ waitsFor }) => waitsFor === undefined);
export const WAITING: readonly BillClass[] = ALL.filter(({ waitsFor }) => waitsFor !== undefined);
