import { createHash, createHmac } from 'node:crypto';
import type { Refusal, StandInCall } from './stand-in.ts';

export interface AwsAccess {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

/**
 * Checks a signature of AWS's version 4 as its description says
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), and not with the library
 * that made it.
 */
export function signatureRefusal(
  { request, url, text }: StandInCall,
  access: AwsAccess,
): Refusal | undefined {
  const given = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w{64})$/.exec(
    request.headers.get('authorization') ?? '',
  );
  if (!given) return { status: 403, message: 'Missing Authentication Token' };
  const [, credential = '', signedHeaders = '', signature = ''] = given;
  const [keyId, ...scope] = credential.split('/');
  const time = request.headers.get('x-amz-date') ?? '';
  const [day = '', region, service, end] = scope;
  const isScope =
    region === access.region && service === 'bedrock' && end === 'aws4_request' && time.startsWith(day);
  if (keyId !== access.accessKeyId || !isScope || day === '')
    return { status: 403, message: 'The security token included in the request is invalid.' };
  if (!signedHeaders.split(';').includes('host'))
    return { status: 403, message: "'Host' must be a 'SignedHeader' in the AWS Authorization." };
  const canonical = canonicalRequest(request, { url, text, signedHeaders });
  const toSign = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const start: Buffer = Buffer.from(`AWS4${access.secretAccessKey}`);
  const key = scope.reduce<Buffer>((last, part) => hmac(last, part), start);
  return hmac(key, toSign).toString('hex') === signature
    ? undefined
    : {
        status: 403,
        message: 'The request signature we calculated does not match the signature you provided.',
      };
}

interface Signed {
  readonly url: URL;
  readonly text: string;
  readonly signedHeaders: string;
}

/** Every part of the path is encoded once more, as all services but S3 want it. */
function canonicalRequest(request: Request, { url, text, signedHeaders }: Signed): string {
  const path = url.pathname.split('/').map(encodeRfc3986).join('/');
  const query = [...url.searchParams]
    .map(([key, value]) => `${encodeRfc3986(key)}=${encodeRfc3986(value)}`)
    .sort();
  const headers = signedHeaders.split(';').map((name) => {
    const value = name === 'host' ? url.host : (request.headers.get(name) ?? '');
    return `${name}:${value.trim().replace(/ +/g, ' ')}\n`;
  });
  return [request.method, path, query.join('&'), headers.join(''), signedHeaders, sha256(text)].join('\n');
}

function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
