import type { Case } from '../case.ts';
import { BURSTS } from './bursts.ts';
import { CHARGES } from './charges.ts';
import { ENDINGS } from './endings.ts';
import { LIMITS } from './limits.ts';
import { REFUSALS } from './refusals.ts';

/** In the order of the table. */
export const CASES: readonly Case[] = [...BURSTS, ...LIMITS, ...ENDINGS, ...REFUSALS, ...CHARGES];
