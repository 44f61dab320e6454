import { join } from 'node:path';
import { SMALL_CHAT } from '../cases.ts';
import { startTollgate } from '../contenders/tollgate.ts';
import { seedRequests } from '../harness/seed.ts';
import type { ScaleContext } from './curve.ts';

const MAIN = join(import.meta.dir, '../../src/main/main.ts');

/** How long the operator's `tollgate verify` takes beside a running server whose books hold that many requests. */
export async function verifyTimes({ backend, folder }: ScaleContext, requests: number): Promise<string> {
  const server = await startTollgate({
    name: 'scale-verify',
    backend,
    folder,
    accounts: SMALL_CHAT.accounts,
    prepare: async (services) => seedRequests(services, requests),
  });
  try {
    const rows = [[], ['--full']].map((options) => {
      const command = ['verify', ...options];
      const startedAt = performance.now();
      const child = Bun.spawnSync([process.execPath, MAIN, ...command, '--json'], {
        env: { ...process.env, ...server.env },
      });
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const found = child.stdout.toString().trim() || child.stderr.toString().trim();
      return `| \`tollgate ${command.join(' ')}\` | ${seconds} | \`${found}\` |`;
    });
    return `### Checking the books of ${requests.toLocaleString('en')} requests on SQLite, 30 days

| command | seconds | answer |
|---|---|---|
${rows.join('\n')}
`;
  } finally {
    await server.stop();
  }
}
