import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import type { MailConfig } from '../mail-channel.ts';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** As it was sent, headers included. */
  readonly raw: string;
}

export interface MailServerOptions {
  /** Whoever logs in must have this password. */
  readonly password?: string;
  /** With the certificate of the package, which nobody trusts. */
  readonly offersTls?: boolean;
}

/** A real SMTP server. It takes every mail, unless told to refuse. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  readonly #server: SMTPServer;
  #refusal: { readonly message: string; readonly responseCode: number } | undefined;

  private constructor({ password, offersTls = false }: MailServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      disabledCommands: [...(offersTls ? [] : ['STARTTLS']), ...(password === undefined ? ['AUTH'] : [])],
      onAuth: (auth, _session, done) =>
        auth.password === password ? done(null, { user: auth.username }) : done(new Error('wrong password')),
      disableReverseLookup: true,
      logger: false,
      onRcptTo: (_address, _session, done) => {
        if (this.#refusal) done(Object.assign(new Error(this.#refusal.message), this.#refusal));
        else done();
      },
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          this.received.push({
            from: mailFrom === false ? '' : (mailFrom?.address ?? ''),
            to: rcptTo.map(({ address }) => address),
            raw: Buffer.concat(chunks).toString(),
          });
          done();
        });
      },
    });
    this.#server.on('error', () => undefined);
  }

  static async start(options: MailServerOptions = {}): Promise<MailServer> {
    const started = new MailServer(options);
    const listening = started.#server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    return started;
  }

  refuse(refusal: { readonly message: string; readonly responseCode: number } | undefined): void {
    this.#refusal = refusal;
  }

  get config(): MailConfig {
    const address = this.#server.server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    return {
      smtpUrl: `smtp://127.0.0.1:${port}`,
      from: { name: 'Tollgate', address: 'gate@example.com' },
    };
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** The parts of a mail as a reader sees them; Quoted-printable and Base64 are decoded. */
export function readMail({ raw }: ReceivedMail): { headers: string; text: string; html: string } {
  const cut = raw.indexOf('\r\n\r\n');
  const headers = raw.slice(0, cut).replaceAll(/\r\n[ \t]+/g, ' ');
  const boundary = /boundary="?([^";\r\n]+)"?/.exec(headers)?.[1] ?? '';
  const parts = raw.slice(cut).split(`--${boundary}`).slice(1, -1).map(decodedPart);
  const bodyOf = (type: string): string => parts.find((part) => part.type.startsWith(type))?.body ?? '';
  return { headers, text: bodyOf('text/plain'), html: bodyOf('text/html') };
}

function decodedPart(part: string): { type: string; body: string } {
  const cut = part.indexOf('\r\n\r\n');
  const headers = part.slice(0, cut);
  const body = part.slice(cut + 4);
  const type = /content-type:\s*([^;\r\n]+)/i.exec(headers)?.[1] ?? '';
  const encoding = /content-transfer-encoding:\s*(\S+)/i.exec(headers)?.[1]?.toLowerCase();
  if (encoding === 'base64') return { type, body: Buffer.from(body, 'base64').toString() };
  return { type, body: encoding === 'quoted-printable' ? unquoted(body) : body };
}

function unquoted(text: string): string {
  const bytes = text
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
