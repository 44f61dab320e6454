/**
 * `bun scripts/walk-operate.ts`: runs the commands of the pages for operators as they are printed, in the order in which an
 * operator would, in a fresh folder that stands for the machine, with a Postgres of its own. Fails if a command fails, is no
 * longer on a page, or is on a page and neither run nor named among those that cannot be run. Needs Postgres 15 of Debian.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNEY, LEFT_OUT, type PrintedStep, type Step } from './walk/journey.ts';
import { Machine, type Result } from './walk/machine.ts';
import { commandsOf } from './walk/page-commands.ts';

const PAGES = ['operate', 'postgres', 'releases'];

const printed = new Set(
  PAGES.flatMap((name) =>
    commandsOf(readFileSync(join(import.meta.dir, `../docs/${name}.md`), 'utf8')).map(({ text }) => text),
  ),
);
const walked = new Set<string>();
const leftOut = new Map(Object.entries(LEFT_OUT));
let failures = 0;

const machine = await Machine.make();
try {
  for (const step of JOURNEY) await take(step);
} finally {
  await machine.end();
}
for (const [text, reason] of leftOut) {
  if (printed.has(text)) console.log(`- ${firstLine(text)}: ${reason}`);
  else fail(text, 'is to be left out and is on no page');
}
for (const text of printed) if (!walked.has(text) && !leftOut.has(text)) fail(text, 'was not run');
console.log(`${walked.size} commands run, ${leftOut.size} left out, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);

async function take(step: Step): Promise<void> {
  if ('unprinted' in step) {
    const result = await machine.shell(machine.here(step.unprinted));
    if (result.code !== 0) fail(`(${step.unprinted})`, `ended with ${result.code}`, result.output);
    return;
  }
  const { begins, needs } = step;
  const text = printed.has(begins) ? begins : [...printed].find((one) => one.startsWith(begins));
  if (text === undefined) return fail(begins, 'is on no page any more');
  if (needs !== undefined && Bun.which(needs) === null) {
    leftOut.set(text, `${needs} is not installed here`);
    return;
  }
  walked.add(text);
  const result = await type(text, step);
  const shown = step.shows?.exec(result.output);
  const { ends = 0 } = step;
  if (result.code !== ends) fail(text, `ended with ${result.code}`, result.output);
  else if (shown === null) fail(text, `does not show ${String(step.shows)}`, result.output);
  else console.log(`✓ ${firstLine(text)}`);
  if (step.sets !== undefined) machine.set(step.sets, shown?.[1] ?? '');
}

async function type(text: string, step: PrintedStep): Promise<Result> {
  const { with: chosen, settingsOf } = step;
  const command = settingsOf === undefined ? text : `cat >> ${settingsOf} <<'END'\n${text}\nEND`;
  return await machine.shell(machine.here(command, chosen), step);
}

function fail(text: string, reason: string, output = ''): void {
  failures++;
  console.log(`✗ ${firstLine(text)}: ${reason}`);
  if (output !== '') console.log(output.trimEnd().replaceAll(/^/gm, '    '));
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
