import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { installDatabase, PASSWORD, type Database } from './database.ts';

const ROOT = join(import.meta.dir, '../..');
const SECRET = 's'.repeat(64);

export interface Result {
  readonly code: number;
  readonly output: string;
}

export interface How {
  readonly input?: string | undefined;
  /** Below the clone. */
  readonly folder?: string | undefined;
  readonly as?: 'postgres' | undefined;
  /** For what serves: what it says when it is ready. Then it is told to end. */
  readonly serves?: RegExp | undefined;
}

/**
 * A folder that stands for the machine of the pages, with a clone of this commit, a database of its own, and stand-ins for
 * what only root, systemd or a network can do; they are stricter than the real ones. Root's services run without rights.
 */
export class Machine {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-walk-'));
  readonly #clone = join(this.folder, 'clone');
  readonly #environment: Record<string, string>;
  readonly #addresses: readonly (readonly [page: string, here: string])[];

  private constructor(
    readonly database: Database,
    certificate: string,
    ports: { readonly server: number; readonly restored: number },
  ) {
    const { folder } = this;
    this.#environment = {
      PATH: `${folder}/stand-ins:${folder}/usr/local/bin:${process.env['PATH'] ?? ''}:${ROOT}/node_modules/.bin`,
      HOME: folder,
      MACHINE: folder,
      PACKAGES: join(ROOT, 'node_modules'),
      UNPRIVILEGED: process.getuid?.() === 0 ? 'nobody' : '',
      TOLLGATE_ENV_FILE: join(folder, 'etc/tollgate.env'),
    };
    const login = `postgres://tollgate:${PASSWORD}@127.0.0.1`;
    this.#addresses = [
      ['postgres://tollgate:…@10.0.0.11:5432', `${login}:${database.port}`],
      ['postgres://tollgate:…@db.internal:5432', `${login}:${database.port}`],
      ['postgres://tollgate:…@127.0.0.1:5433', `${login}:${ports.restored}`],
      ['postgres://…', `${login}:${database.port}/tollgate`],
      ['port = 5433', `port = ${ports.restored}`],
      ['TOLLGATE_SECRET=…', `TOLLGATE_SECRET=${SECRET}`],
      [
        'TOLLGATE_HOST=10.0.0.11',
        `TOLLGATE_HOST=127.0.0.1\nTOLLGATE_PORT=${ports.server}\nTOLLGATE_DRAIN_SECONDS=0`,
      ],
      ['https://gate.example.com', `http://127.0.0.1:${ports.server}`],
      ['http://127.0.0.1:8700', `http://127.0.0.1:${ports.server}`],
      ['curl ', 'curl --fail --silent --show-error '],
    ];
    this.#furnish(certificate);
  }

  static async make(): Promise<Machine> {
    const made = mkdtempSync(join(tmpdir(), 'tollgate-walk-certificate-'));
    try {
      const cert = join(made, 'cert.pem');
      const key = join(made, 'key.pem');
      const words = [
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-subj',
        '/CN=db',
      ];
      const alternative = ['-addext', 'subjectAltName=IP:127.0.0.1'];
      run(['openssl', 'req', '-x509', ...words, ...alternative, '-keyout', key, '-out', cert]);
      const ports = { server: await freePort(), restored: await freePort() };
      return new Machine(await installDatabase({ cert, key }), cert, ports);
    } finally {
      rmSync(made, { recursive: true, force: true });
    }
  }

  set(name: string, value: string): void {
    this.#environment[name] = value;
  }

  /** The page's addresses as they are here, what everybody has to choose, and the page's paths below our folder. */
  here(text: string, chosen: Readonly<Record<string, string>> = {}): string {
    for (const [page, here] of [...this.#addresses, ...Object.entries(chosen)])
      text = text.replaceAll(page, here);
    return text.replaceAll(/(?<![\w/.])\/(?=(?:etc|var|usr|tmp)\/)/g, `${this.folder}/`);
  }

  async shell(command: string, how: How = {}): Promise<Result> {
    const words = ['sh', '-ec', command];
    const child = Bun.spawn(how.as === undefined ? words : ['sudo', '-u', how.as, ...words], {
      cwd: join(this.#clone, how.folder ?? ''),
      env: this.#environment,
      stdin: new Blob([how.input ?? '']),
      stdout: 'pipe',
      stderr: 'pipe',
      // A session of its own has no terminal: what asks for a password reads it from standard input.
      detached: true,
    });
    let output = '';
    let isTold = false;
    const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const bytes of stream) {
        output += decoder.decode(bytes, { stream: true });
        if (isTold || how.serves?.test(output) !== true) continue;
        isTold = true;
        process.kill(-child.pid, 'SIGTERM');
      }
    };
    await Promise.all([read(child.stdout), read(child.stderr)]);
    const code = await child.exited;
    return { code: isTold && code === 143 ? 0 : code, output };
  }

  async end(): Promise<void> {
    for (const stop of [
      'systemctl stop tollgate',
      'pg_ctl -D "$(ls -d $MACHINE/var/lib/postgresql/*/)" stop',
    ])
      await this.shell(`${stop} || true`, stop.startsWith('pg_ctl') ? { as: 'postgres' } : {});
    await this.database.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #furnish(certificate: string): void {
    const { folder } = this;
    chmodSync(folder, 0o755);
    for (const name of [
      'etc/prometheus',
      'etc/systemd/system',
      'etc/tollgate',
      'var/backups',
      'var/lib/postgresql',
      'usr/local/bin',
      'remote',
      'tmp',
    ])
      mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'etc/passwd'), '');
    writeFileSync(join(folder, 'etc/postgres-user'), this.database.profile);
    cpSync(certificate, join(folder, 'etc/tollgate/database-ca.pem'));
    chmodSync(join(folder, 'etc/tollgate/database-ca.pem'), 0o644);
    for (const name of ['remote', 'tmp', 'var/lib/postgresql']) chmodSync(join(folder, name), 0o777);
    cpSync(join(import.meta.dir, 'stand-ins'), join(folder, 'stand-ins'), { recursive: true });
    run(['git', 'clone', '--quiet', '--shared', '--no-checkout', ROOT, this.#clone]);
    // With what is changed here and not committed yet, as a commit that nothing points to.
    const commit =
      run(['git', '-C', ROOT, 'stash', 'create']) || run(['git', '-C', ROOT, 'rev-parse', 'HEAD']);
    run(['git', '-C', this.#clone, 'checkout', '--quiet', '--detach', commit]);
  }
}

function run(words: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(words);
  if (!success) throw new Error(`${words.join(' ')}: ${stderr.toString()}`);
  return stdout.toString().trim();
}
