/** One command of a page, or what an operator does between two of them. */
export type Step = PrintedStep | UnprintedStep;

export interface PrintedStep {
  /** As it stands on a page, from its first character. */
  readonly begins: string;
  readonly input?: string;
  /** Its exit code; absent, 0. */
  readonly ends?: number;
  /** In place of the page's words for what everybody has to choose. */
  readonly with?: Readonly<Record<string, string>>;
  readonly shows?: RegExp;
  /** A variable of later commands, from the first part of {@link shows}. */
  readonly sets?: string;
  /** For what serves until it is told to end: what it says when it is ready. */
  readonly serves?: RegExp;
  /** Lines for this file, which are added to it. */
  readonly settingsOf?: string;
  readonly as?: 'postgres';
  /** Below the clone. */
  readonly folder?: string;
  /** A program that the command cannot do without. */
  readonly needs?: string;
}

interface UnprintedStep {
  readonly unprinted: string;
}

const BACKUP = '/var/backups/tollgate/first.dump';
const ACCOUNT = { EMAIL: 'you@example.com', USD: '1', TEXT: 'test' };
const NEW_SECRET = 'n'.repeat(64);
const READY = /ready at/;
const emptyDatabase: readonly Step[] = [
  { unprinted: 'sudo -u postgres dropdb --force tollgate' },
  { begins: 'sudo -u postgres createdb --owner tollgate tollgate' },
];

const install: readonly Step[] = [
  { begins: 'npm ci && npm run build', shows: /dist\/tollgate {2}\d+ MB/ },
  {
    unprinted:
      'install -m 755 dist/tollgate /usr/local/bin/ && install -m 644 deploy/tollgate.service /etc/systemd/system/',
  },
  { begins: 'tollgate --version', shows: /^\d+\.\d+\.\d+ \([0-9a-f]{12}\)$/m },
  { begins: 'apt install postgresql' },
  { begins: 'sudo -u postgres createuser --pwprompt tollgate', input: 'seven-tolls\nseven-tolls\n' },
  { begins: 'sudo -u postgres createdb --owner tollgate tollgate' },
  { begins: 'openssl rand -hex 32', shows: /^[0-9a-f]{64}$/m },
  { begins: 'useradd --system' },
  { begins: 'tollgate doctor' },
  { begins: 'tollgate config' },
  { begins: 'journalctl -u tollgate', shows: /http:\/\/127\.0\.0\.1:\d+\/setup/ },
  {
    begins: 'tollgate account create you@example.com --admin',
    input: 'seven tolls at the river crossing\n',
    shows: /(sk-\w+)/,
    sets: 'TOLLGATE_TOKEN',
  },
  { begins: 'curl https://gate.example.com/readyz', shows: /"choices"/ },
  { begins: 'tollgate catalog check' },
  { begins: 'systemctl reload tollgate' },
];

const backups: readonly Step[] = [
  { begins: 'install -d -o tollgate -g tollgate -m 700 /var/backups/tollgate' },
  { begins: 'tollgate backup /var/backups/tollgate/$(date' },
  { begins: 'tollgate backup FILE', with: { FILE: BACKUP } },
  {
    begins: 'pg_dump --format=custom',
    with: { 'pg_dump --format=custom': 'pg_dump --format=custom --dbname=tollgate --file=/tmp/own.dump' },
    as: 'postgres',
  },
  { begins: 'tollgate backup --done' },
  { begins: 'install -m 755 deploy/tollgate-backup.sh' },
  { begins: 'BACKUP_COPY=', settingsOf: '/etc/tollgate-backup.env' },
  // A name has its seconds.
  {
    unprinted: 'sleep 1; systemctl start tollgate-backup.service; ls $MACHINE/remote/offsite/tollgate/*.dump',
  },
  { begins: 'systemctl --failed', shows: /^$/ },
  {
    begins: 'sudo -u postgres createdb --owner tollgate tollgate_check',
    with: { 'tollgate-….dump': '$(ls $MACHINE/var/backups/tollgate | grep ^tollgate- | tail -1)' },
  },
];

const daily: readonly Step[] = [
  { begins: 'tollgate help' },
  { begins: 'tollgate COMMAND --help', with: { COMMAND: 'account credit' } },
  {
    begins: 'tollgate account credit a@example.com 5 --key invoice-7',
    with: { 'a@example.com': ACCOUNT.EMAIL },
  },
  { begins: 'tollgate account debit EMAIL USD', with: ACCOUNT },
  { begins: 'tollgate account token EMAIL', with: ACCOUNT },
  { begins: 'tollgate account allow-cards EMAIL', with: ACCOUNT },
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
  { begins: 'tollgate metrics token > /etc/prometheus/tollgate-token', shows: /tollgate_build_info/ },
  { begins: 'tollgate metrics token' },
  { begins: 'OTEL_EXPORTER_OTLP_ENDPOINT=', settingsOf: '/etc/tollgate.env' },
  {
    unprinted: "systemctl restart tollgate; sed -i '/^OTEL_/d' /etc/tollgate.env; systemctl restart tollgate",
  },
];

const encryptedDatabase: readonly Step[] = [
  { begins: "DATABASE_URL='postgres://", settingsOf: '/etc/tollgate.env' },
  { unprinted: 'systemctl restart tollgate && tollgate doctor' },
  {
    begins: 'tollgate backup',
    with: { 'tollgate backup': 'tollgate backup /var/backups/tollgate/tls.dump' },
  },
  { begins: 'systemctl stop tollgate' },
  {
    begins: 'tollgate restore',
    with: { 'tollgate restore': 'tollgate restore /var/backups/tollgate/tls.dump --force' },
  },
  { unprinted: "sed -i '/^DATABASE_URL=.*sslmode/d' /etc/tollgate.env; systemctl start tollgate" },
];

const upgrade: readonly Step[] = [
  { begins: 'cp -p /usr/local/bin/tollgate /usr/local/bin/tollgate.before' },
  { begins: 'npm run build' },
  { begins: 'install -m 755 dist/tollgate /usr/local/bin/tollgate.new' },
  { unprinted: 'systemctl restart tollgate' },
  { begins: 'install -m 755 /usr/local/bin/tollgate.before' },
  { unprinted: 'systemctl restart tollgate && tollgate verify --full' },
  // Bun of another platform would be downloaded.
  {
    begins: 'npm run build -- FILE --target bun-linux-arm64',
    with: { FILE: 'dist/named', 'bun-linux-arm64': `bun-linux-${process.arch}` },
  },
  {
    begins: 'docker build --build-arg COMMIT=$(git rev-parse HEAD) …',
    with: { '…': '--file deploy/Dockerfile .' },
  },
  { begins: 'COMMIT=$(git rev-parse HEAD) docker compose build', folder: 'deploy' },
];

const measurements: readonly Step[] = [
  { begins: 'bun scripts/proxies.ts' },
  { begins: 'bun scripts/rolling-restart.ts 10000', with: { '10000': '100' } },
  {
    begins: 'bun scripts/rolling-upgrade.ts [--from COMMIT]',
    with: { '[--from COMMIT] [--receipts N] [--requests N] [--beside-a-dump] [--pause]': '--requests 100' },
    needs: 'haproxy',
  },
  {
    begins: 'bun scripts/sqlite-upgrade.ts',
    with: { 'sqlite-upgrade.ts': 'sqlite-upgrade.ts --receipts 1000' },
  },
  { begins: 'bun scripts/move-run.ts', with: { 'move-run.ts': 'move-run.ts 1000' } },
  { begins: 'bun bench/tls.ts', with: { 'tls.ts': 'tls.ts --rounds 1 --seconds 1' } },
];

const pointInTime: readonly Step[] = [
  { begins: 'install -d -o postgres -g postgres -m 700 /var/backups/wal' },
  { begins: 'wal=/var/backups/wal\npsql', as: 'postgres' },
  { begins: 'base=/var/backups/base/', as: 'postgres' },
  { unprinted: 'tollgate account create moved@example.com; sleep 2' },
  { begins: 'systemctl stop tollgate' },
  {
    begins: 'wal=/var/backups/wal base=',
    with: { '1 minute ago': '1 second ago' },
    as: 'postgres',
    shows: /recovery stopping/,
  },
  { begins: 'DATABASE_URL=postgres://tollgate:…@127.0.0.1:5433', shows: /moved@example\.com/ },
];

const stopped: readonly Step[] = [
  {
    begins: "BUN_OPTIONS='--cpu-prof-md --cpu-prof-dir=/tmp/profiles' tollgate serve",
    serves: READY,
  },
  { unprinted: 'ls $MACHINE/tmp/profiles/*.md' },
  ...emptyDatabase,
  { begins: 'tollgate restore FILE', with: { FILE: BACKUP } },
  { begins: 'docker compose stop node1 node2', folder: 'deploy' },
  {
    unprinted:
      'cd deploy && mkdir backups && pg_dump --format=custom --no-owner --no-privileges -f backups/FILE "$(sed -n s/^DATABASE_URL=//p $TOLLGATE_ENV_FILE)"',
  },
  { begins: 'docker compose exec -T postgres pg_restore', folder: 'deploy' },
  { begins: 'docker compose start node1 node2', folder: 'deploy' },
  { begins: 'TOLLGATE_NEW_SECRET=… tollgate secret rotate', with: { '…': NEW_SECRET } },
  {
    unprinted: `sed -i 's/^TOLLGATE_SECRET=.*/TOLLGATE_SECRET=${NEW_SECRET}/' /etc/tollgate.env; tollgate verify`,
  },
  { begins: 'tollgate secret reset --yes' },
];

const fromSqlite: readonly Step[] = [
  {
    unprinted:
      "sed -i '/^DATABASE_URL=/d' /etc/tollgate.env; rm -rf /var/lib/tollgate/*; systemctl start tollgate; tollgate account create you@example.com --balance 5",
  },
  { begins: 'systemctl stop tollgate' },
  { begins: 'tollgate backup /var/backups/tollgate/before.db' },
  ...emptyDatabase,
  { begins: 'tollgate move --to postgres://…', shows: /^Moved to /m },
  { begins: 'tollgate move --undo --yes' },
  ...emptyDatabase,
  { unprinted: 'echo DATABASE_URL=postgres://tollgate:…@10.0.0.11:5432/tollgate >> /etc/tollgate.env' },
  { begins: 'tollgate move', shows: /^Moved to /m },
  { unprinted: 'systemctl start tollgate; tollgate verify --full; systemctl stop tollgate' },
];

const packaged: readonly Step[] = [
  { begins: 'npm run package' },
  { begins: 'npm run release' },
  { begins: 'sha256sum --check --ignore-missing SHA256SUMS', folder: 'dist', serves: READY },
  { begins: 'node_modules/.bin/tollgate serve', folder: 'dist', serves: READY },
];

/** In an order in which an operator would come to them, and each finds what it needs. */
export const JOURNEY: readonly Step[] = [
  ...install,
  ...backups,
  ...daily,
  ...encryptedDatabase,
  ...upgrade,
  ...pointInTime,
  ...stopped,
  ...fromSqlite,
  ...packaged,
  ...measurements,
];

/** What is on a page and cannot be run here, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'bun scripts/rolling-restart.ts': 'takes minutes; it is run with fewer requests',
  'bun scripts/rolling-upgrade.ts': 'takes minutes; it is run with fewer requests',
};
