import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import example from '../../tollgate.example.yaml' with { type: 'text' };
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';

test('a proxy is trusted or no longer trusted as soon as the file that says so has been read', async () => {
  const gateway = await Gateway.start({ yaml: example });
  const account = await gateway.account('1');

  expect(await imageLink(gateway, account, 'https')).toStartWith('http://');
  expect(await imageLink(gateway, account, 'http')).toStartWith('http://');

  await reload(gateway, 'trusted_proxies: [127.0.0.1]');
  expect(await imageLink(gateway, account, 'https')).toStartWith('https://');
  // A trusted proxy that speaks for a client on plain HTTP must not be answered.
  expect(await imageLink(gateway, account, 'http')).toBe('https_required');

  await reload(gateway, 'trusted_proxies: [10.0.0.0/8]');
  expect(await imageLink(gateway, account, 'https')).toStartWith('http://');
  await gateway.stop();
}, 60_000);

test('TLS that was turned on is not in force before the next start, and log and console say so', async () => {
  const gateway = await Gateway.start({ yaml: example });
  const admin = new Browser(gateway.url, '127.0.0.1');
  const token = gateway.tollgate.setupLink?.split('/').at(-1);
  await admin.must('POST', '/api/console/setup', { token, email: 'admin@example.com', password: PASSWORD });
  const restartNeeded = async () =>
    (await admin.must<{ source: { restartNeeded: string[] } }>('GET', '/api/console/admin/catalog')).source
      .restartNeeded;
  const warnings = () => gateway.log.filter((line) => line.includes('restart_needed'));

  await reload(gateway, 'trusted_proxies: [10.0.0.0/8]');
  expect([await restartNeeded(), warnings()]).toEqual([[], []]);

  await reload(gateway, 'tls: self-signed');
  expect(gateway.url).toStartWith('http://');
  expect(await restartNeeded()).toEqual(['tls']);
  expect(warnings()).toHaveLength(1);

  await reload(gateway, '');
  expect(await restartNeeded()).toEqual([]);
  await gateway.stop();
}, 60_000);

/** What SIGHUP does. */
async function reload(gateway: Gateway, settings: string): Promise<void> {
  writeFileSync(join(gateway.folder, 'tollgate.yaml'), `${example}\n${settings}\n`);
  await gateway.tollgate.reload();
}

/** Where a client behind a proxy is told to fetch its image; or the error's code. */
async function imageLink(gateway: Gateway, { token }: TestAccount, scheme: string): Promise<string> {
  const asked = { model: 'house-paint', size: '256x256', response_format: 'url' };
  const response = await gateway.image(token, asked, { headers: { 'x-forwarded-proto': scheme } });
  const body = (await response.json()) as { data?: { url: string }[]; error?: { code: string } };
  return body.data?.[0]?.url ?? body.error?.code ?? '';
}
