import { accountExport } from '../activity/export.ts';
import { textStream } from '../activity/csv.ts';
import { requireAccount } from './overview.ts';
import { route } from './route.ts';

/** All that is kept about the account, as JSON lines, streamed. */
export const exportRoutes = [
  route('GET /api/console/export', {
    who: 'user',
    async handle(parts, { user }) {
      // It reads everything; nobody needs it often.
      parts.auth.throttle.act('export', user.accountId);
      const account = await requireAccount(parts, user.accountId);
      const lines = accountExport({ db: parts.store.db, reader: parts.reader }, account);
      return new Response(textStream(lines), {
        headers: {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'content-disposition': 'attachment; filename="tollgate-export.jsonl"',
          'cache-control': 'no-store',
        },
      });
    },
  }),
];
