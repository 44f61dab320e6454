import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterContext } from '../gateway.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';

/** What the nodes of a gateway share: Postgres with a database of its own, and Redis. */
export interface SharedServices {
  /** For configuration, data and logs. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly redis: { readonly url: string; readonly port: number };
  stop(): Promise<void>;
}

export async function startShared({ folder: all }: AdapterContext, name: string): Promise<SharedServices> {
  const folder = join(all, name);
  mkdirSync(folder, { recursive: true });
  const postgres = await startPostgres();
  const redis = await startRedis(folder);
  return {
    folder,
    databaseUrl: await postgres.database(name.replaceAll('-', '')),
    redis,
    async stop() {
      await redis.stop();
      await postgres.stop();
    },
  };
}
