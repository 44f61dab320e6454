import { SMALL_CHAT } from '../cases.ts';
import { startTollgate } from '../contenders/tollgate.ts';
import { saturate } from '../harness/measure.ts';
import { writePlot, type Point } from '../harness/plot.ts';
import { slope } from '../harness/statistics.ts';
import type { ScaleContext } from './curve.ts';

const SLICE_SECONDS = 4;
const MB = 2 ** 20;

/** What the gateway's memory does over very many requests. */
export async function memoryOver(ground: ScaleContext, requests: number): Promise<string> {
  const { backend, folder, tools } = ground;
  const tollgate = await startTollgate({
    name: 'scale-memory',
    backend,
    folder,
    accounts: SMALL_CHAT.accounts,
  });
  const points: Point[] = [];
  let errors = 0;
  try {
    for (let served = 0; served < requests;) {
      const sample = await saturate(SMALL_CHAT, tollgate, SLICE_SECONDS, tools);
      errors += sample.errors;
      // A gateway that answers nothing would keep this loop running indefinitely.
      served += Math.max(1_000, Math.round(sample.unitsPerSecond * SLICE_SECONDS));
      points.push({ x: served, y: sample.rssBytes / MB });
      console.log(`${served} requests: ${(sample.rssBytes / MB).toFixed(0)} MB`);
    }
  } finally {
    await tollgate.stop();
  }
  writePlot('memory', {
    title: 'Memory over requests',
    xLabel: 'requests served',
    yLabel: 'RSS, MB',
    series: [{ name: 'Tollgate, SQLite', points }],
  });
  const later = points.slice(Math.floor(points.length / 2));
  const perMillion = slope(later) * 1e6;
  const last = points.at(-1);
  return `### Memory\n\n![Memory over requests](plots/memory.svg)\n\nRSS after ${last?.x.toLocaleString('en')} requests: ${last?.y.toFixed(0)} MB, most ${Math.max(...points.map(({ y }) => y)).toFixed(0)} MB; over the second half it moved by ${perMillion.toFixed(1)} MB per million requests (${errors} failed).\n`;
}
