import { createHash, createHmac } from 'node:crypto';
import type { Outgoing } from './definition.ts';

/**
 * AWS Signature Version 4 over the bytes that really go out. The AI SDK's package signs too, but before Tollgate has
 * lowered the body to what the hold covers, and it does not sign a GET, which the health check is.
 */
export function signRequest(request: Outgoing, signer: Signer): Record<string, string> {
  const url = new URL(request.url);
  const stamp = signer.now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const signed: Record<string, string> = {
    host: url.host,
    'x-amz-date': stamp,
    ...(signer.sessionToken !== undefined && { 'x-amz-security-token': signer.sessionToken }),
  };
  const names = Object.keys(signed).sort();
  const canonical = [
    request.method,
    canonicalPath(url.pathname),
    canonicalQuery(url.searchParams),
    ...names.map((name) => `${name}:${signed[name]}`),
    '',
    names.join(';'),
    sha256(request.body),
  ].join('\n');
  const scope = `${stamp.slice(0, 8)}/${signer.region}/${signer.service}/aws4_request`;
  const signature = hmac(
    signingKey(signer, stamp),
    `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${sha256(canonical)}`,
  ).toString('hex');
  const { host: _, ...headers } = signed;
  const credential = `${signer.accessKeyId}/${scope}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

export interface Signer {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  readonly region: string;
  readonly service: string;
  readonly now: Date;
}

function signingKey({ secretAccessKey, region, service }: Signer, stamp: string): Buffer {
  const steps = [stamp.slice(0, 8), region, service, 'aws4_request'];
  return steps.reduce<Buffer>((key, step) => hmac(key, step), Buffer.from(`AWS4${secretAccessKey}`));
}

/** All services but S3 want the path of the address encoded once more. */
function canonicalPath(path: string): string {
  return path.split('/').map(encode).join('/');
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .map(([key, value]) => `${encode(key)}=${encode(value)}`)
    .sort()
    .join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
