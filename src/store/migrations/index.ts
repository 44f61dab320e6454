import type { Dialect } from '../dialect.ts';
import { baseline } from './0001-baseline.ts';
import {
  costEntries,
  costs,
  imageJobs,
  imageObjects,
  largeTables,
  modelDays,
  outbox,
  payments,
  receiptLinks,
  refusedCalls,
  retention,
  signInAttempts,
  statements,
  usageHours,
  usageTotals,
} from './0002-to-0016.ts';
import { savedByCache, moneyThatGoesBack, chargedAnswers, teams, storedResponses } from './0017-to-0021.ts';
import {
  catalogPlans,
  chatWebhooks,
  operators,
  priceGroups,
  requestTags,
  responsesByTime,
} from './0022-to-0027.ts';

/**
 * Numbered steps, each applied once and never edited after a release: the checksum of its statements is stored with it, and
 * a database whose checksum differs is refused. Expand first, contract a release later: a step that only adds keeps
 * `compatibleFrom` of the one before it, so that the previous version of Tollgate keeps running beside the new one; a step
 * that removes something raises it to the lowest number whose code works with the result.
 *
 * Each step is one transaction, and its tables are locked only while its statements run: a step that has to change many
 * rows does not belong here. An index of a table that an earlier step has made is built after the step, while others
 * write to the table, and nothing in its own step may need it.
 *
 * Functions of the database are no part of any step: see src/store/stored-functions.ts.
 */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly compatibleFrom: number;
  statements(dialect: Dialect): readonly string[];
}

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'baseline', compatibleFrom: 1, statements: baseline },
  { number: 2, name: 'retention', compatibleFrom: 1, statements: retention },
  { number: 3, name: 'costs', compatibleFrom: 1, statements: costs },
  { number: 4, name: 'sign-in attempts', compatibleFrom: 1, statements: signInAttempts },
  { number: 5, name: 'refused calls', compatibleFrom: 1, statements: refusedCalls },
  { number: 6, name: 'image jobs', compatibleFrom: 1, statements: imageJobs },
  { number: 7, name: 'outbox', compatibleFrom: 1, statements: outbox },
  { number: 8, name: 'payments', compatibleFrom: 1, statements: payments },
  { number: 9, name: 'statements', compatibleFrom: 1, statements },
  { number: 10, name: 'image objects', compatibleFrom: 1, statements: imageObjects },
  { number: 11, name: 'large tables', compatibleFrom: 1, statements: largeTables },
  { number: 12, name: 'model days', compatibleFrom: 1, statements: modelDays },
  { number: 13, name: 'usage hours', compatibleFrom: 1, statements: usageHours },
  { number: 14, name: 'receipt links', compatibleFrom: 1, statements: receiptLinks },
  { number: 15, name: 'usage totals', compatibleFrom: 1, statements: usageTotals },
  { number: 16, name: 'cost entries', compatibleFrom: 1, statements: costEntries },
  { number: 17, name: 'saved by cache', compatibleFrom: 1, statements: savedByCache },
  { number: 18, name: 'money that goes back', compatibleFrom: 1, statements: moneyThatGoesBack },
  { number: 19, name: 'charged answers', compatibleFrom: 1, statements: chargedAnswers },
  { number: 20, name: 'teams', compatibleFrom: 1, statements: teams },
  { number: 21, name: 'stored responses', compatibleFrom: 1, statements: storedResponses },
  { number: 22, name: 'operators', compatibleFrom: 1, statements: operators },
  { number: 23, name: 'price groups', compatibleFrom: 1, statements: priceGroups },
  { number: 24, name: 'chat webhooks', compatibleFrom: 1, statements: chatWebhooks },
  { number: 25, name: 'catalog plans', compatibleFrom: 1, statements: catalogPlans },
  { number: 26, name: 'request tags', compatibleFrom: 1, statements: requestTags },
  { number: 27, name: 'responses by time', compatibleFrom: 1, statements: responsesByTime },
];
