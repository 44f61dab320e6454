import { expect, test } from 'bun:test';
import { signRequest, type Signer } from './aws-signature.ts';

/** Credentials and time of the published test suite of Signature Version 4. */
const signer: Signer = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
  region: 'us-east-1',
  service: 'service',
  now: new Date('2015-08-30T12:36:00Z'),
};

test('a request is signed as in AWS’s published example (get-vanilla)', async () => {
  const headers = await signRequest(
    { method: 'GET', url: 'https://example.amazonaws.com/', headers: {}, body: '' },
    signer,
  );
  expect(headers['x-amz-date']).toBe('20150830T123600Z');
  expect(headers['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
      'SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  );
});

test('path, query, body and session token are part of the signature', async () => {
  const url =
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3%3A0/converse?b=2&a=x%20y';
  const headers = await signRequest(
    { method: 'POST', url, headers: {}, body: '{"a":1}' },
    { ...signer, accessKeyId: 'A', secretAccessKey: 'S', sessionToken: 'T', service: 'bedrock' },
  );
  expect(headers['x-amz-security-token']).toBe('T');
  expect(headers['authorization']).toEndWith(
    'Signature=5e9ee61c229ee371c29ea7f05c1db0e70b32e54b0d5231152e901647286fb084',
  );
});

test.each([
  ['get-slashes', '//example//', '9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84'],
  [
    'get-vanilla-query-order-key-case',
    '/?Param2=value2&Param1=value1',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
])('a request is signed as in AWS’s published example (%s)', async (_, path, signature) => {
  const url = `https://example.amazonaws.com${path}`;
  const headers = await signRequest({ method: 'GET', url, headers: {}, body: '' }, signer);
  expect(headers['authorization']).toEndWith(`Signature=${signature}`);
});
