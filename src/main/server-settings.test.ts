import { expect, test } from 'bun:test';
import { catalogText } from '../../test/support/marked-catalog.ts';
import { catalogChanges } from '../catalog/diff.ts';
import { parseCatalog } from '../catalog/parse.ts';
import { SERVER_SETTINGS, serverSettings, settingsFolder } from './server-settings.ts';

const FILE = { fileName: 'tollgate.yaml', env: {} };

function parse(settings: string) {
  return parseCatalog(`${catalogText({})}${settings}\n`, { ...FILE, settings: SERVER_SETTINGS });
}

function read(settings: string, catalogPath?: string) {
  return serverSettings(parse(settings), settingsFolder(catalogPath));
}

test('without a word about it the server speaks plain HTTP and believes no proxy', () => {
  expect(read('')).toMatchObject({ tls: undefined, trustedProxies: [] });
});

test('paths of the certificate are relative to the file', () => {
  const { tls } = read('tls: { cert: certs/a.pem, key: /keys/b.pem }', '/etc/tollgate/tollgate.yaml');
  expect(tls).toEqual({ kind: 'files', cert: '/etc/tollgate/certs/a.pem', key: '/keys/b.pem' });
  expect(read('tls: self-signed').tls).toEqual({ kind: 'self-signed' });
});

test('a share of requests to log may have decimals', () => {
  expect(read('log: { access: { sample: 0.25 } }').accessShare).toBe(0.25);
});

test('the catalog itself knows nothing of them', () => {
  const text = `${catalogText({})}trusted_proxies: [10.0.0.0/8]\n`;
  expect(() => parseCatalog(text, FILE)).toThrow(/tollgate\.yaml:8:1 trusted_proxies: unknown key/);
});

test('a change of them is listed among the changes of the file', () => {
  const [before, after] = [parse('tls: self-signed'), parse('trusted_proxies: [10.0.0.0/8, 192.168.1.7]')];
  expect(catalogChanges(before, after)).toMatchObject([
    {
      kind: 'changed',
      subject: 'server: tls',
      before: 'self-signed',
      after: 'none',
    },
    { kind: 'changed', subject: 'server: trusted proxies', before: 'none', after: '10.0.0.0/8, 192.168.1.7' },
  ]);
});

test('receipts are kept for ever unless a number of days is named, and then for five weeks at least', () => {
  expect(read('').receiptsDays).toBeUndefined();
  expect(read('retention: {}').receiptsDays).toBeUndefined();
  expect(read('retention: { receipts_days: 35 }').receiptsDays).toBe(35);
  for (const days of ['34', '0', '-1', '1.5', '40000', 'many'])
    expect(() => read(`retention: { receipts_days: ${days} }`)).toThrow(
      /retention\.receipts_days: must be a whole number from 35 to 36500/,
    );
  expect(() => read('retention: { receipt_days: 90 }')).toThrow(/unknown key; did you mean receipts_days\?/);
});
