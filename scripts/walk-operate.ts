/**
 * `bun scripts/walk-operate.ts`: runs the commands of docs/operate.md as they are printed, in a fresh folder that stands
 * for the machine, on a Postgres of its own; `systemctl` starts and signals the server as the unit would. Says which
 * commands of the page it does not run, and fails if one that it runs fails or is no longer on the page. Needs Postgres 15
 * of Debian.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from '../test/support/free-port.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { commandsOf, type PageCommand } from './walk/page-commands.ts';

const ROOT = join(import.meta.dir, '..');
const PAGE = join(ROOT, 'docs/operate.md');
const PROGRAMS = '/usr/lib/postgresql/15/bin';

interface Step {
  /** As it stands on the page, from its first character. */
  readonly begins: string;
  readonly input?: string;
  /** Its exit code; absent, 0. */
  readonly ends?: number;
  /** In place of the page's words for what everybody has to choose. */
  readonly with?: Readonly<Record<string, string>>;
  /** Reads what later steps need from what it printed. */
  readonly take?: (output: string) => void;
}

const machine = mkdtempSync(join(tmpdir(), 'tollgate-walk-'));
// Its programs come from one package with pg_dump, which refuses a server that is newer than itself.
const postgres = await startPostgres({ fsync: false, programs: PROGRAMS });
const port = await freePort();
const environment: Record<string, string> = {
  PATH: `${machine}/usr/local/bin:${process.env['PATH'] ?? ''}`,
  HOME: machine,
  TOLLGATE_ENV_FILE: `${machine}/etc/tollgate.env`,
};
let databaseUrl = await postgres.emptyDatabase();
const backup = `${machine}/var/backups/tollgate/first.dump`;
const EMAIL = { EMAIL: 'you@example.com', USD: '1', TEXT: 'test' };

/** In an order in which each finds what it needs; the server runs from `systemctl enable` on. */
const SERVED: readonly Step[] = [
  { begins: 'openssl rand -hex 32' },
  { begins: 'useradd --system' },
  { begins: 'tollgate doctor' },
  { begins: 'tollgate config' },
  {
    begins: 'tollgate account create you@example.com --admin',
    input: 'seven tolls at the river crossing\n',
    take: (output) => (environment['TOLLGATE_TOKEN'] = /sk-\w+/.exec(output)?.[0] ?? ''),
  },
  { begins: 'curl https://gate.example.com/readyz' },
  { begins: 'tollgate catalog check' },
  { begins: 'systemctl reload tollgate' },
  { begins: 'install -d -o tollgate -g tollgate -m 700 /var/backups/tollgate' },
  { begins: 'tollgate backup /var/backups/tollgate/$(date' },
  { begins: 'tollgate backup FILE', with: { FILE: backup } },
  { begins: 'tollgate help' },
  { begins: 'tollgate COMMAND --help', with: { COMMAND: 'account credit' } },
  {
    begins: 'tollgate account credit a@example.com 5 --key invoice-7',
    with: { 'a@example.com': EMAIL.EMAIL },
  },
  { begins: 'tollgate account debit EMAIL USD', with: EMAIL },
  { begins: 'tollgate account token EMAIL', with: EMAIL },
  { begins: 'tollgate verify' },
  { begins: 'tollgate verify --full' },
  { begins: 'tollgate catalog check FILE', with: { FILE: '/etc/tollgate/tollgate.yaml' } },
  {
    begins: 'tollgate doctor --live [BACKEND]',
    // The built-in backend calls no tools.
    ends: 1,
    with: { '[BACKEND] [--max-usd 0.05] [--model ID] [--json]': 'house --max-usd 0.05 --json' },
  },
  { begins: 'kill -USR2' },
  { begins: 'tollgate metrics token > /etc/prometheus/tollgate-token' },
  { begins: 'tollgate metrics token' },
];

/** While no server runs. */
const STOPPED: readonly Step[] = [
  { begins: 'tollgate restore FILE', with: { FILE: backup } },
  { begins: 'TOLLGATE_NEW_SECRET=… tollgate secret rotate', with: { '…': 'n'.repeat(64) } },
  { begins: 'tollgate secret reset --yes' },
];

const page = commandsOf(readFileSync(PAGE, 'utf8'));
const walked = new Set<PageCommand>();
let failures = 0;
try {
  furnish();
  for (const step of SERVED) await take(step);
  await shell('systemctl stop tollgate', '');
  databaseUrl = await postgres.emptyDatabase();
  environment['DATABASE_URL'] = databaseUrl;
  for (const step of STOPPED) await take(step);
} finally {
  await shell('systemctl stop tollgate', '');
  await postgres.stop();
  rmSync(machine, { recursive: true, force: true });
}
for (const { text } of page.filter((command) => !walked.has(command)))
  console.log(`- not run: ${text.split('\n')[0]}`);
console.log(`${walked.size} commands run, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);

async function take({ begins, input = '', ends = 0, with: chosen = {}, take: read }: Step): Promise<void> {
  const exact = page.find(({ text }) => text === begins);
  const command = exact ?? page.find(({ text }) => text.startsWith(begins));
  if (!command) {
    failures++;
    console.log(`✗ ${begins}: no longer on the page`);
    return;
  }
  walked.add(command);
  let text = command.text;
  for (const [word, value] of Object.entries(chosen)) text = text.replaceAll(word, value);
  const { code, output } = await shell(onThisMachine(text), input);
  const isRight = code === ends;
  if (!isRight) failures++;
  console.log(`${isRight ? '✓' : '✗'} ${command.text.split('\n')[0]}`);
  if (!isRight) console.log(output.replace(/^/gm, '    '));
  read?.(output);
}

/** The page's paths below our folder, its addresses as they are here, and its secrets filled in. */
function onThisMachine(text: string): string {
  return text
    .replaceAll('postgres://tollgate:…@10.0.0.11:5432/tollgate', databaseUrl)
    .replaceAll('TOLLGATE_SECRET=…', `TOLLGATE_SECRET=${'s'.repeat(64)}`)
    .replaceAll(
      'TOLLGATE_HOST=10.0.0.11',
      `TOLLGATE_HOST=127.0.0.1\nTOLLGATE_PORT=${port}\nTOLLGATE_DRAIN_SECONDS=0`,
    )
    .replaceAll('https://gate.example.com', `http://127.0.0.1:${port}`)
    .replaceAll('http://127.0.0.1:8700', `http://127.0.0.1:${port}`)
    .replaceAll('curl ', 'curl --fail --silent --show-error ')
    .replaceAll('-o tollgate -g tollgate ', '')
    .replaceAll(/(?<![\w/.])\/(?=(?:etc|var|usr)\/)/g, `${machine}/`);
}

async function shell(command: string, input: string): Promise<{ code: number; output: string }> {
  const child = Bun.spawn(['sh', '-ec', command], {
    cwd: machine,
    env: environment,
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, output: output + errors };
}

/** What the machine of the page has: folders, the program, and stand-ins for what only root and systemd can do. */
function furnish(): void {
  for (const folder of ['etc/prometheus', 'var/lib/tollgate', 'var/backups', 'usr/local/bin'])
    mkdirSync(join(machine, folder), { recursive: true });
  const pid = join(machine, 'pid');
  program('tollgate', `exec ${join(ROOT, 'bin/tollgate')} "$@"`);
  program('useradd', 'exit 0');
  program(
    'systemctl',
    `case $1 in
enable)
  tollgate serve >${machine}/greeting 2>${machine}/log </dev/null &
  echo $! >${pid}
  until grep -q 'ready at' ${machine}/greeting; do kill -0 $! || { cat ${machine}/log >&2; exit 1; }; sleep 0.1; done ;;
reload) kill -HUP $(cat ${pid}) ;;
show) cat ${pid} ;;
stop)
  [ ! -e ${pid} ] || { kill $(cat ${pid}); while kill -0 $(cat ${pid}) 2>/dev/null; do sleep 0.1; done; rm ${pid}; } ;;
esac`,
  );
}

function program(name: string, script: string): void {
  const path = join(machine, 'usr/local/bin', name);
  if (!existsSync(dirname(path))) throw new Error(`${dirname(path)} is missing`);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}
