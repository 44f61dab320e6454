/**
 * Installs the coding agents from npm into a temporary home and has each do a small task through Tollgate, headless, on
 * a scripted backend; then once more on an empty account. Not part of `npm test`: the programs are large.
 *
 *   bun scripts/agents.ts [--write] [name …]     --write: also docs/clients/agents-transcript.md
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENTS, type Agent } from './agents/cast.ts';
import { install } from './agents/install.ts';
import { MORE_AGENTS } from './agents/more-cast.ts';
import { problemsWith, problemsWithoutMoney, problemsWithWrongKey, runTask } from './agents/task-run.ts';
import { transcript, type Run } from './agents/transcript.ts';

/** A token with a letter too many. */
const WRONG_KEY = 'sk-tollgate-mistyped';
const TRANSCRIPT = join(import.meta.dir, '..', 'docs', 'clients', 'agents-transcript.md');

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const cast = [...AGENTS, ...MORE_AGENTS].filter(({ name }) => names.length === 0 || names.includes(name));
const root = mkdtempSync(join(tmpdir(), 'tollgate-agents-'));
const runs: Run[] = [];
try {
  for (const agent of cast) {
    console.error(`${agent.name} …`);
    runs.push(await perform(agent));
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
const text = transcript(runs);
console.log(text);
if (process.argv.includes('--write')) writeFileSync(TRANSCRIPT, text);
const failed = runs.filter(({ problems }) => problems.length > 0);
for (const { agent, problems } of failed) console.error(`✗ ${agent.name}: ${problems.join('; ')}`);
console.log(`${runs.length - failed.length} of ${runs.length} agents did their task`);
process.exit(failed.length === 0 && runs.length > 0 ? 0 : 1);

/** One agent: installed, then the task with money and without. A failure is part of the transcript. */
async function perform(agent: Agent): Promise<Run> {
  const folder = join(root, agent.npmPackage.replaceAll(/[^a-z-]/g, '_'));
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  try {
    const { program, version, note } = await install(agent, join(folder, 'program'), home);
    const rich = await runTask(agent, { program, folder }, { usd: '1' });
    const poor = await runTask(agent, { program, folder }, { usd: '0' });
    const wrong = agent.stopsAtWrongKey
      ? problemsWithWrongKey(await runTask(agent, { program, folder }, { usd: '1', token: WRONG_KEY }))
      : [];
    const problems = [...problemsWith(rich), ...problemsWithoutMoney(poor), ...wrong];
    return { agent, version, note, rich, poor, problems };
  } catch (error) {
    const nothing = { note: undefined, rich: undefined, poor: undefined };
    return { agent, version: 'not installed', ...nothing, problems: [String(error)] };
  }
}
