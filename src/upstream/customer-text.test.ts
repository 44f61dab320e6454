import { describe, expect, test } from 'bun:test';
import { customerText, hideServerFromCustomers } from './customer-text.ts';

const NEUTRAL = 'The backend rejected the request.';

hideServerFromCustomers('http://gpu-7.racks.example:8000/v1');
hideServerFromCustomers('http://inference:8080');
hideServerFromCustomers('https://[2001:db8::7]:8000');

describe('what names a key, an address or a server', () => {
  const revealing = [
    'sk-evil-***…3456',
    'sk-proj-abc...wxyz',
    'sk-12',
    'AIzaSy…',
    'key ending in ***abcd',
    'xxxx1234',
    '••••9f3a',
    'abcd…12ef',
    'Bearer eyJhbGciOi.x.y',
    'Bearer abc***',
    '5f2b9c0d1e3a4f5b6c7d8e9f',
    'dGhpcyBpcyBhIHNlY3JldCBrZXkgb2YgYSBwcm92aWRlcg==',
    '123e4567-e89b-12d3-a456-426614174000',
    'org-AbC123xyz9',
    'account_99812',
    'arn:aws:iam::123456789012:user/ops',
    'ops@provider.example',
    'https://inner.provider.example/path',
    'postgres://db/x',
    'www.provider.example',
    '10.0.0.7',
    '10.0.0.7:8000',
    'fe80::1',
    '::1',
    '2001:db8:0:0:0:0:0:7',
    'gpu-7.internal:8000',
    'gpu-9.racks.example:8000',
    'gpu-7.racks.example',
    'GPU-7.Racks.Example',
    'gpu-7',
    'inference',
    'router.provider.com',
    'localhost',
    'worker.svc.cluster.local',
  ];

  test.each(revealing)('%s: only what stands before it is shown', (name) => {
    expect(customerText(`The tool is not known. It was asked of ${name}, which knows it not.`)).toBe(
      'The tool is not known.',
    );
    expect(customerText(`It was asked of ${name}. The tool is not known.`)).toMatch(
      /^It was asked of( key ending in| Bearer)?…$/,
    );
    expect(customerText(`no such tool at ${name}`)).toMatch(/^no such tool at( key ending in| Bearer)?…$/);
    expect(customerText(`(${name})`)).toMatch(/^(The backend rejected the request\.|\(key ending in…)$/);
  });
});

test.each([
  "This model's maximum context length is 8192 tokens. However, your messages have 9001 tokens.",
  "Invalid type for 'messages[0].content[1].image_url': expected an object.",
  'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.',
  'Unsupported value: temperature must be 1 for gpt-5.1-mini, not 0.7.',
  'max_tokens: 200000 > 64000, which is the maximum for claude-sonnet-4-5-20250929.',
  'The name get_the_weather_forecast_of_a_city is used by two tools.',
  'Expected a time such as 12:30:45, e.g. in UTC.',
  'Please reduce the prompt... It has 12 images.',
  'The key of the schema is missing. A token may not be empty.',
])('an ordinary message is shown as it is: %s', (message) => {
  expect(customerText(message)).toBe(message);
});

test('signs that control a terminal or hide text are gone, and a long message ends', () => {
  expect(customerText('no\u001b[31m red\u202e text\n')).toBe('no [31m red  text');
  expect(customerText('\n')).toBe(NEUTRAL);
  expect(customerText('wrong '.repeat(1_000))).toHaveLength(500);
  expect(customerText(`${'wrong '.repeat(80)} sk-abc***def`)).toBe(`${'wrong '.repeat(80).trim()}…`);
});
