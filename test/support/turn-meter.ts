/**
 * Loaded into a server before its program: tells on a socket of its own how long the longest turn of the server's event
 * loop was between `/begin` and `/end`, and what would be noticeable.
 */
import { longestTurnMs, noticeableMs } from './longest-turn.ts';

const unix = process.env['TURN_METER_SOCKET'];
// Commands beside the server, and its other threads, load this too.
if (process.argv.at(-1) === 'serve' && Bun.isMainThread && unix !== undefined) {
  let end = Promise.withResolvers<void>();
  let longest = Promise.resolve(0);
  Bun.serve({
    unix,
    async fetch({ url }) {
      if (url.endsWith('/begin')) {
        end = Promise.withResolvers();
        longest = longestTurnMs(() => end.promise);
        return new Response();
      }
      end.resolve();
      return Response.json({ longestTurnMs: await longest, noticeableMs: noticeableMs() });
    },
  });
}
