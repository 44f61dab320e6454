/**
 * Records the golden corpus anew: `bun test/golden/record.ts`, with parts of names to record only those. Look at the
 * diff before committing it: each line is something that a client or a backend would notice.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { GoldenCase } from './case.ts';
import { CASES } from './cases/index.ts';
import { fileOf, recordedFiles } from './files.ts';
import { runAll } from './run.ts';

const wanted = process.argv.slice(2);
const chosen = CASES.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const written: Promise<void>[] = [];
await runAll(chosen, (golden, recording) => {
  const result = write(golden, recording);
  // Told below, once all others had their turn.
  result.catch(() => undefined);
  written.push(result);
});
const failed = (await Promise.allSettled(written)).filter((result) => result.status === 'rejected');
for (const { reason } of failed) console.error(reason);
if (wanted.length === 0) {
  const known = new Set(CASES.map(fileOf));
  for (const file of recordedFiles()) if (!known.has(file)) rmSync(file);
}
console.log(`${written.length - failed.length} recorded, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);

async function write(golden: GoldenCase, recording: Promise<string>): Promise<void> {
  const text = await recording;
  mkdirSync(dirname(fileOf(golden)), { recursive: true });
  writeFileSync(fileOf(golden), text);
}
