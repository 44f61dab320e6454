import { expect, test } from 'bun:test';
import pg from 'pg';
import { testPostgres } from './postgres.ts';
test('x', async () => {
  const s = performance.now();
  const p = await testPostgres();
  console.log('start', performance.now()-s, process.pid);
  const url = await p.freshDatabase();
  const c = new pg.Client(url); c.on('error', () => {}); await c.connect();
  console.log((await c.query(`select version(), current_setting('server_version_num'), 'a' < 'B' as ling`)).rows);
  const s2=performance.now();
  await p.stopServer(); console.log('stop', performance.now()-s2); await p.startServer(); console.log('restart', performance.now()-s2);
  await p.stopServer('immediate'); await p.startServer(); console.log('imm', performance.now()-s2);
}, 30000);
