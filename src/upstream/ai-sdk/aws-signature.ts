import { AwsV4Signer } from 'aws4fetch';
import type { OutgoingRequest } from './provider.ts';

/**
 * AWS Signature Version 4 over the bytes that are really sent. The AI SDK's package signs too, but before Tollgate has
 * lowered the body to what the hold covers, and it does not sign a GET, which the health check needs.
 */
export async function signRequest(
  { method, url, body }: OutgoingRequest,
  { now, sessionToken, ...signer }: Signer,
): Promise<Record<string, string>> {
  const { headers } = await new AwsV4Signer({
    ...signer,
    ...(sessionToken !== undefined && { sessionToken }),
    datetime: now.toISOString().replace(/[-:]|\.\d{3}/g, ''),
    method,
    url,
    body,
  }).sign();
  return Object.fromEntries(headers);
}

export interface Signer {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  readonly region: string;
  readonly service: string;
  readonly now: Date;
}
