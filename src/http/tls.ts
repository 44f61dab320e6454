import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../std/startup-error.ts';

/** How Tollgate itself serves HTTPS. Paths are absolute. */
export type TlsConfig =
  | { readonly kind: 'files'; readonly cert: string; readonly key: string }
  | { readonly kind: 'self-signed' };

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** The operator's own certificate, or a self-signed one that is kept, so that clients need to trust it only once. */
export async function readTls(config: TlsConfig | undefined, dataDir: string): Promise<TlsPair | undefined> {
  if (config === undefined) return undefined;
  if (config.kind === 'files') return readTlsFiles(config);
  const [certPath, keyPath] = [join(dataDir, 'tls-cert.pem'), join(dataDir, 'tls-key.pem')];
  if (existsSync(certPath) && existsSync(keyPath)) return { cert: read(certPath), key: read(keyPath) };
  const pair = await selfSigned(['localhost', '127.0.0.1', '::1']);
  writeFileSync(keyPath, pair.key, { mode: 0o600 });
  writeFileSync(certPath, pair.cert, { mode: 0o600 });
  return pair;
}

/** Throws a sentence about what is wrong with the files. */
export function readTlsFiles({ cert, key }: { readonly cert: string; readonly key: string }): TlsPair {
  const pair = { cert: read(cert), key: read(key) };
  const certificate = parsed(
    () => new X509Certificate(pair.cert),
    `The TLS file ${cert} is no PEM certificate.`,
  );
  const privateKey = parsed(
    () => createPrivateKey(pair.key),
    `The TLS file ${key} is no PEM key without a password.`,
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new StartupError(`The certificate ${cert} and the key ${key} do not belong together.`);
  return pair;
}

function parsed<T>(parse: () => T, otherwise: string): T {
  try {
    return parse();
  } catch (cause) {
    throw new StartupError(otherwise, cause);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new StartupError(`The TLS file ${path} cannot be read.`, cause);
  }
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const YEARS = 10;

/** Runs once per installation, so its library is loaded only then. */
async function selfSigned(names: readonly string[]): Promise<TlsPair> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const from = new Date();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(16)))
      .toString('hex')
      .replace(/^./, '1'),
    name: 'CN=Tollgate self-signed',
    notBefore: from,
    notAfter: new Date(from.getTime() + YEARS * 365 * 86_400_000),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({
          type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
          value,
        })),
      ),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: certificate.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}
