/**
 * The process that the crash test of statements kills: issues those of many accounts and months, several at once. Whoever
 * has told the number after which it is to be killed waits for that, so that it cannot be done before.
 */
import { writeSync } from 'node:fs';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';
import { systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import { openStore } from '../../store/store.ts';
import { issueStatement } from '../monthly-statement.ts';
import { orders } from './statement-orders.ts';

const [dataDir = '', databaseUrl = '', killedAfter] = process.argv.slice(2);
const where = databaseUrl === '' ? { dataDir } : { dataDir, databaseUrl };
const store = await openStore({ ...where, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
const left = orders();
const NEVER_MS = 600_000;
let told = 0;
const worker = async (): Promise<void> => {
  for (let order = left.pop(); order; order = left.pop()) {
    const { number } = await issueStatement(store, order);
    writeSync(1, `issued ${number}\n`);
    if (++told === Number(killedAfter)) await Bun.sleep(NEVER_MS);
  }
};
await Promise.all([worker(), worker(), worker()]);
await store.close();
writeSync(1, 'done\n');
