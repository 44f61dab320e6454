import { z } from 'zod';
import { Fault } from '../std/fault.ts';
import type { Page } from './contract.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

export const pagingFields = {
  cursor: z.string().max(200).optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .optional(),
};

export const pagingSchema = z.strictObject(pagingFields);

export function limitOf({ limit }: { limit?: string | undefined }): number {
  return Math.min(MAX_LIMIT, Math.max(1, Number(limit ?? DEFAULT_LIMIT)));
}

/** The cursor of a list that is ordered by number. */
export function numberCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  if (!/^\d{1,15}$/.test(cursor)) throw wrongCursor();
  return Number(cursor);
}

/** The cursor of a list that is ordered by time, then id. */
export function markCursor(cursor: string | undefined): { at: number; id: string } | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(cursor) ?? [];
  if (at === undefined || id === undefined) throw wrongCursor();
  return { at: Number(at), id };
}

/** A page out of rows that were asked for with one more than the limit. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { item, cursor }: { item: (row: Row) => Item; cursor: (row: Row) => string },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(item), next: rows.length > limit && last !== undefined ? cursor(last) : null };
}

export function wrongCursor(): Fault {
  return new Fault('invalid_field', 'This cursor is not one of this list.', { param: 'cursor' });
}
