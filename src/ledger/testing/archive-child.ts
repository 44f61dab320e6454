/**
 * The process that the archive's crash test kills: lets the oldest day leave, a few receipts at a time, beside requests of
 * its own, which go on until it is killed. It ends by itself only if no day is left.
 */
import { writeSync } from 'node:fs';
import { newRequestId, type AccountId, type TokenHash } from '../../std/ids.ts';
import { systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import { openStore } from '../../store/store.ts';
import { openLedger } from '../open-ledger.ts';
import { LEDGER_SQL } from '../postgres/functions.ts';
import { chatAdmission, used } from './contract-harness.ts';

const [dataDir = '', databaseUrl = '', account = '', hash = ''] = process.argv.slice(2);
const where = databaseUrl === '' ? { dataDir } : { dataDir, databaseUrl };
const store = await openStore({ ...where, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
const opened = openLedger(store, {
  node: `victim-${process.pid}`,
  clock: systemClock,
  log: silentLog,
  deadlineMs: 20_000,
});
const { ledger } = opened;
await opened.recover();

const owner = { id: account as AccountId, hash: hash as TokenHash };
const [day] = await ledger.archivable({ keepDays: 35, limit: 1 });
if (day) await Promise.all([ledger.archive(day, 3), serve()]);
await opened.close();
await store.close();
writeSync(1, 'done\n');

async function serve(): Promise<never> {
  for (;;) {
    const request = chatAdmission(owner, { requestId: newRequestId(Date.now()) });
    await ledger.admit(request);
    await ledger.settle(request.requestId, used({ output: 1 }));
    writeSync(1, 'served\n');
  }
}
