import { X509Certificate } from 'node:crypto';
import { readTls, type TlsConfig, type TlsPair } from '../http/tls.ts';
import type { Log } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import type { LiveServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';

interface CertificateOptions {
  /** The newest setting. */
  readonly config: () => TlsConfig | undefined;
  readonly dataDir: string;
  readonly log: Log;
}

const CHECK_EVERY_MS = 4_000;

/** The certificate that is served, which follows its files: a renewed one is taken up without a restart. */
export class Certificate {
  readonly #options: CertificateOptions;
  #pair: TlsPair;
  #onRenewed: (pair: TlsPair) => void = () => undefined;
  /** The last problem that was logged; it is not logged again every few seconds. */
  #refused: string | undefined;
  #timer: Timer | undefined;

  private constructor(pair: TlsPair, options: CertificateOptions) {
    this.#pair = pair;
    this.#options = options;
  }

  /** Absent without TLS. Throws an error that says what is wrong with the files. */
  static async open(options: CertificateOptions): Promise<Certificate | undefined> {
    const pair = await readTls(options.config(), options.dataDir);
    return pair && new Certificate(pair, options);
  }

  get pair(): TlsPair {
    return this.#pair;
  }

  /** When it ends. */
  endsAt(): number {
    return new X509Certificate(this.#pair.cert).validToDate.getTime();
  }

  /** From now on the files are looked at every few seconds. */
  follow(onRenewed: (pair: TlsPair) => void): void {
    this.#onRenewed = onRenewed;
    this.#timer = setInterval(() => void this.check(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  /** Takes up files that have changed; a pair that cannot be used leaves the old one in force. */
  async check(): Promise<void> {
    const { config, dataDir, log } = this.#options;
    try {
      const pair = await readTls(config(), dataDir);
      this.#refused = undefined;
      // Turning TLS off takes a restart, as the settings say.
      if (!pair || (pair.cert === this.#pair.cert && pair.key === this.#pair.key)) return;
      this.#onRenewed(pair);
      this.#pair = pair;
      log.info('certificate_renewed', { valid_until: new Date(this.endsAt()).toISOString() });
    } catch (error) {
      const reason = error instanceof StartupError ? error.message : String(error);
      if (reason === this.#refused) return;
      this.#refused = reason;
      log.warn('certificate_refused', {
        reason,
        in_force_until: new Date(this.endsAt()).toISOString(),
      });
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The certificate of a server, as its settings say. */
export async function openCertificate(
  { config: { dataDir }, log }: Services,
  settings: Pick<LiveServerSettings, 'tls'>,
  opened: AsyncDisposableStack,
): Promise<Certificate | undefined> {
  const certificate = await Certificate.open({ config: () => settings.tls(), dataDir, log });
  opened.defer(() => certificate?.stop());
  return certificate;
}
