import { formatUsd, nanoUsd } from '../../src/std/money.ts';
import { TASK, type Agent, type Place } from './cast.ts';
import type { TaskRun } from './task-run.ts';

export interface Run {
  readonly agent: Agent;
  readonly version: string;
  readonly note: string | undefined;
  /** With money on the account, and without. */
  readonly rich: TaskRun | undefined;
  readonly poor: TaskRun | undefined;
  readonly problems: readonly string[];
}

/** The runs as a page of the documentation: nothing of the machine they took place on. */
export function transcript(runs: readonly Run[]): string {
  return `${HEAD}\n${runs.map(section).join('\n')}`;
}

const HEAD = `# Agents at work

Written by \`bun scripts/agents.ts --write\`, which installs each agent from npm into a temporary home, points it at a Tollgate as
its page here says, and gives it this task:

> ${TASK}

The backend is scripted: asked with tools, it calls the one that writes files; given the result, it says that it is done. Every
answer claims 1,000 input and 50 output tokens at $1 and $2 per million, so each costs $0.0011. The script checks the file, every
receipt, the balance and the ledger, and then runs the task again on an empty account.
`;

function section({ agent, version, note, rich, poor, problems }: Run): string {
  const remark = note === undefined ? '' : `\n${note}.\n`;
  const head = `## ${agent.name} (\`${agent.npmPackage}\` ${bareVersion(version)})\n${remark}`;
  const verdict = problems.length > 0 ? `\n**It failed:** ${problems.join('; ')}\n` : '';
  if (!rich || !poor) return head + verdict;
  return `${head}${verdict}
\`\`\`console
$ ${[agent.command, ...(agent.script === undefined ? agent.arguments : ['task.mjs'])].map(shellWord).join(' ')}
${printed(rich)}
$ cat hello.txt
${rich.file ?? ''}
\`\`\`

${requests(rich)}

On an empty account, after ${counted(poor.exchanges.filter(({ method }) => method === 'POST').length)}, all answered 402:

\`\`\`console
${printed(poor)}
\`\`\`
`;
}

function requests({ exchanges, receipts }: TaskRun): string {
  const rows = exchanges.map(({ method, path, search, status, requestId }) => {
    const receipt = receipts.find(({ id }) => id === requestId);
    const money = receipt
      ? `${receipt.input_tokens} | ${receipt.output_tokens} | ${receipt.output_cap} | $${formatUsd(nanoUsd(receipt.charged))}`
      : ' | | | ';
    return `| \`${method} ${path}${search}\` | ${status} | ${money} |`;
  });
  return ['| request | status | input | output | cap | charge |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

const MOST_LINES = 40;

function printed({ output, place }: TaskRun): string {
  const lines = anonymous(output, place)
    .trim()
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line, at, all) => line !== '' || all[at - 1] !== '');
  return lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), '…'].join('\n') : lines.join('\n');
}

/** Paths, addresses and ids differ from run to run and say nothing. */
function anonymous(output: string, { home, project, url }: Place): string {
  return output
    .replaceAll(project, '~/project')
    .replaceAll(home, '~')
    .replaceAll(url, 'http://127.0.0.1:8700')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '…')
    .replace(/req_\w+/g, 'req_…')
    .replaceAll(/[^\s"']*tollgate-agents-[^\s"']*/g, '…')
    .replaceAll(/^(?:Deprecation)?Warning: AI SDK.*\n(?: +at .*\n)*\n?/gm, '')
    .replace(/^WARNING: proceeding, even though.*$\n?/m, '')
    .replace(/^\[claude-code:.*$\n?/m, '');
}

function bareVersion(printed: string): string {
  return /\d+\.\d+\.\d+/.exec(printed)?.[0] ?? printed;
}

function counted(number: number): string {
  return number === 1 ? 'one request' : `${number} requests`;
}

function shellWord(word: string): string {
  return /^[\w./:=-]+$/.test(word) ? word : `'${word}'`;
}
