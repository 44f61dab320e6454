import { pause, type Case, type Stage } from '../case.ts';
import { chat } from '../client.ts';
import { isAnswered } from './bursts.ts';

const PER_MINUTE = 20;
const SENT = 100;
const FEWEST = 15;
const MINUTE_MS = 60_000;
/** Whoever counts by the minute of the clock begins anew at its turn: all are sent well before. */
const LATEST_START_MS = 35_000;

export const LIMITS: readonly Case[] = [
  {
    id: 'limit-one-node',
    title: `${PER_MINUTE} requests a minute, ${SENT} sent to one node`,
    bound: `${FEWEST} to ${PER_MINUTE} answered`,
    needs: ['money', 'limits'],
    isAlone: true,
    run: (stage) => limited(stage, 1),
  },
  {
    id: 'limit-two-nodes',
    title: `${PER_MINUTE} requests a minute, ${SENT} sent to two nodes in turn`,
    bound: `${FEWEST} to ${PER_MINUTE} answered`,
    needs: ['money', 'limits', 'two nodes'],
    isAlone: true,
    run: (stage) => limited(stage, 2),
  },
];

async function limited(stage: Stage, nodes: number) {
  const account = await stage.account({ usd: 5, requestsPerMinute: PER_MINUTE });
  const intoMinute = Date.now() % MINUTE_MS;
  if (stage.gateway.limitsBy === 'clock' && intoMinute > LATEST_START_MS)
    await pause(MINUTE_MS - intoMinute + 100);
  const scene = stage.backend.scene({ words: 5 });
  let answered = 0;
  for (let sent = 0; sent < SENT; sent += 10) {
    const seen = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        chat(stage.gateway, account, { prompt: `Tell of ${scene.cue}`, maxTokens: 5, node: index % nodes }),
      ),
    );
    answered += seen.filter(isAnswered).length;
  }
  return { holds: answered >= FEWEST && answered <= PER_MINUTE, figure: `${answered} answered` };
}
