import type { Dialect } from '../dialect.ts';

/**
 * What cached input has saved is written with the other sums of the day, at settlement. In the sums of ten days it is NULL
 * where a version wrote them that did not know of it; those are added up once more.
 *
 * `usage_total` and `usage_saving` are no longer read, and stay for versions that run beside this one or that somebody goes
 * back to; what this version does for them is in `usage-hours.ts` and `ten-day-sums.ts`. A later step drops both, with those
 * lines and with what `provider-bill.ts` adds to `usage_total`.
 */
export function savedByCache(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE usage_day ADD COLUMN saved ${d.int64} NOT NULL DEFAULT 0`,
    `ALTER TABLE usage_ten_days ADD COLUMN saved ${d.int64}`,
  ];
}
