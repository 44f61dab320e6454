/** The process that crash.test.ts kills: keeps many requests in flight and prints each confirmed charge. */
import { writeSync } from 'node:fs';
import { systemClock } from '../../std/clock.ts';
import { newRequestId, type TokenHash } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import { openStore } from '../../store/store.ts';
import { chatAdmission, used } from './contract-harness.ts';
import { NO_USAGE } from '../price.ts';
import { sqliteBackend } from './sqlite-harness.ts';
import { SqliteLedger } from '../sqlite/ledger.ts';
import { LEDGER_SQL } from '../postgres/functions.ts';

const [dataDir = '', hash = ''] = process.argv.slice(2);
const IN_FLIGHT = 150;

const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
const backend = sqliteBackend(store);
const ledger = new SqliteLedger({
  backend,
  log: silentLog,
  clock: systemClock,
  node: `victim-${process.pid}`,
});
await ledger.recover();
await Promise.all(Array.from({ length: IN_FLIGHT }, (_, lane) => client(lane)));

async function client(lane: number): Promise<void> {
  for (let turn = 1; ; turn++) {
    const account = { id: '' as never, hash: hash as TokenHash };
    const request = chatAdmission(account, { requestId: newRequestId(Date.now()) });
    const admission = await ledger.admit(request);
    if (admission.kind !== 'admitted') throw new Error(admission.reason);
    if (lane % 2 === 0) {
      await ledger.renew([{ requestId: request.requestId, delivered: { ...NO_USAGE, output: turn % 50 } }]);
    }
    const { charged } = await ledger.settle(request.requestId, used({ output: turn % 100 }));
    writeSync(1, `${request.requestId} ${charged}\n`);
  }
}
