import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

let site: TestConsole;
let admin: Browser;

beforeAll(async () => {
  site = await testConsole();
  admin = await site.admin();
});
afterAll(() => site.close());

type Refused = { error: { code: string } };
const codeOf = ({ status, body }: { status: number; body: object }) => [
  status,
  (body as Partial<Refused>).error?.code,
];
const isIn = async (browser: Browser) =>
  (await browser.must<{ user: unknown }>('GET', '/api/console/session')).user !== null;

test('a passkey signs its owner in until it is removed', () => wholeLife(site));

test('a passkey signs its owner in until it is removed, on Postgres', async () => {
  const postgres = await testPostgres();
  const onPostgres = await testConsole({ databaseUrl: await postgres.freshDatabase() });
  try {
    await onPostgres.admin();
    await wholeLife(onPostgres);
  } finally {
    await onPostgres.close();
  }
}, 60_000);

test('a passkey replaces the second factor too, so the device must have verified its owner', async () => {
  const careless = await site.user('careless@example.com');
  const unchecked = new Device(site.url, { ownerChecked: false });
  expect(codeOf(await unchecked.register(careless, 'touch only'))).toEqual([401, 'invalid_credentials']);
  const device = new Device(site.url);
  await device.register(careless, 'phone');
  device.ownerChecked = false;
  expect(codeOf(await device.signIn(site.browser()))).toEqual([401, 'invalid_credentials']);
});

test('a response for another site, for another challenge or by another key does not sign in', async () => {
  const owner = await site.user('target@example.com');
  const device = new Device(site.url);
  await device.register(owner, 'key');
  expect((await device.with({}).signIn(site.browser())).status).toBe(200);
  const tries: [string, (browser: Browser) => Promise<{ status: number; body: object }>][] = [
    ['another site', (browser) => device.with({ origin: 'https://evil.example' }).signIn(browser)],
    ['another challenge', (browser) => device.with({ challenge: 'AAAA' }).signIn(browser)],
    ['another key', (browser) => device.with({ key: newKey() }).signIn(browser)],
    ['no challenge', (browser) => device.answer(browser, { challenge: 'AAAA', rpId: 'localhost' })],
  ];
  for (const [name, attempt] of tries) {
    const browser = site.browser();
    expect([name, ...codeOf(await attempt(browser))]).toEqual([name, 401, 'invalid_credentials']);
    expect([name, await isIn(browser)]).toEqual([name, false]);
  }
});

test('a response can be used once', async () => {
  const owner = await site.user('once@example.com');
  const device = new Device(site.url);
  await device.register(owner, 'key');
  const thief = site.browser();
  const asked = await thief.must<Asked>('POST', '/api/auth/passkey/generate-authenticate-options');
  const cookies = new Map(thief.cookies);
  expect((await device.answer(thief, asked)).status).toBe(200);
  const again = site.browser();
  for (const [name, value] of cookies) again.cookies.set(name, value);
  expect(codeOf(await device.answer(again, asked))).toEqual([401, 'invalid_credentials']);
});

test('adding and removing need a fresh confirmation, and only the owner can', async () => {
  const owner = await site.user('sudo-key@example.com');
  const device = new Device(site.url);
  await device.register(owner, 'first');
  const [item] = await passkeysOf(owner);
  const path = `/api/console/passkeys/${item?.id}`;
  const other = await site.user('other-key@example.com');
  expect((await other.call('PATCH', path, { name: 'mine now' })).status).toBe(404);
  expect((await other.call('DELETE', path)).status).toBe(404);
  site.advance(16 * 60_000);
  const made = { clientDataJSON: 'e30', attestationObject: 'oA' };
  const response = {
    id: 'aWQ',
    rawId: 'aWQ',
    type: 'public-key',
    clientExtensionResults: {},
    response: made,
  };
  for (const [method, route, body] of [
    ['POST', '/api/auth/passkey/generate-register-options', {}],
    ['POST', '/api/auth/passkey/verify-registration', { name: 'Key', response }],
    ['DELETE', path, undefined],
  ] as const)
    expect(codeOf(await owner.call(method, route, body))).toEqual([403, 'confirmation_required']);
  await owner.must('POST', '/api/console/confirm', { password: PASSWORD });
  await owner.must('DELETE', path);
});

test('a disabled account cannot sign in, and a password set by the operator removes the passkeys', async () => {
  const owner = await site.user('ended@example.com');
  const id = await owner.accountId();
  const device = new Device(site.url);
  await device.register(owner, 'key');
  const status = async (value: 'active' | 'disabled') =>
    await site.store.db.updateTable('account').set({ status: value }).where('id', '=', id).execute();
  await status('disabled');
  expect(codeOf(await device.signIn(site.browser()))).toEqual([403, 'forbidden']);
  await status('active');
  expect((await device.signIn(site.browser())).status).toBe(200);
  await site.auth.users.setPassword(id, 'a phrase from the operator');
  expect(codeOf(await device.signIn(site.browser()))).toEqual([401, 'invalid_credentials']);
});

test('tries and challenges from one address are slowed down', async () => {
  const device = new Device(site.url);
  const browser = site.browser('198.51.100.7');
  const statuses: number[] = [];
  for (let n = 0; n < 7; n++) statuses.push((await device.signIn(browser)).status);
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  let refused = 0;
  for (let n = 0; n < 70; n++) {
    const path = '/api/auth/passkey/generate-authenticate-options';
    if ((await browser.call('POST', path)).status === 429) refused++;
  }
  expect(refused).toBeGreaterThan(5);
});

test('an admin who adds or removes a passkey is in the audit log', async () => {
  await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
  const device = new Device(site.url);
  await device.register(admin, 'office');
  const [item] = await passkeysOf(admin);
  await admin.must('DELETE', `/api/console/passkeys/${item?.id}`);
  const { items } = await admin.must<{ items: { action: string }[] }>('GET', '/api/console/admin/audit');
  expect(items.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['passkey.add', 'passkey.remove']),
  );
});

async function wholeLife(at: TestConsole): Promise<void> {
  const owner = await at.user('owner@example.com');
  const device = new Device(at.url);
  await device.register(owner, 'laptop');
  const elsewhere = at.browser();
  expect((await device.signIn(elsewhere)).status).toBe(200);
  expect(await elsewhere.accountId()).toBe(await owner.accountId());
  const [item] = await passkeysOf(owner);
  expect(item).toMatchObject({ name: 'laptop', usedAt: expect.any(Number) });
  await owner.must('PATCH', `/api/console/passkeys/${item?.id}`, { name: 'old laptop' });
  expect(await passkeysOf(owner)).toMatchObject([{ name: 'old laptop' }]);
  await owner.must('DELETE', `/api/console/passkeys/${item?.id}`);
  const late = at.browser();
  expect(codeOf(await device.signIn(late))).toEqual([401, 'invalid_credentials']);
  expect(await isIn(late)).toBe(false);
}

async function passkeysOf(browser: Browser) {
  type Items = { items: { id: string; name: string; usedAt: number | null }[] };
  return (await browser.must<Items>('GET', '/api/console/passkeys')).items;
}

interface Asked {
  readonly challenge: string;
  readonly rpId: string;
}

let twins = 10;

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** A software authenticator with options for what a correct one would not do. */
class Device {
  readonly origin: string;
  ownerChecked: boolean;
  readonly challenge: string | undefined;
  readonly key: ReturnType<typeof newKey>;
  id = randomBytes(32);
  #counter = 0;

  constructor(
    origin: string,
    more: { ownerChecked?: boolean; challenge?: string; key?: ReturnType<typeof newKey> } = {},
  ) {
    this.origin = origin;
    this.ownerChecked = more.ownerChecked ?? true;
    this.challenge = more.challenge;
    this.key = more.key ?? newKey();
  }

  with(more: { origin?: string; challenge?: string; key?: ReturnType<typeof newKey> }): Device {
    const { origin = this.origin, ...rest } = more;
    const twin = new Device(origin, { ownerChecked: this.ownerChecked, key: this.key, ...rest });
    twin.id = this.id;
    // An authenticator counts its answers, and a count that went back would be a reason of its own to refuse.
    twin.#counter = this.#counter + twins++ * 10;
    return twin;
  }

  async register(browser: Browser, name: string) {
    const options = await browser.must<{ challenge: string; rp: { id: string } }>(
      'POST',
      '/api/auth/passkey/generate-register-options',
    );
    const { x = '', y = '' } = this.key.publicKey.export({ format: 'jwk' });
    // CBOR by hand: a COSE key {1: 2, 3: -7, -1: 1, -2: x, -3: y} and {fmt: "none", attStmt: {}, authData}.
    const point = [Buffer.from([0x21, 0x58, 32]), decode(x), Buffer.from([0x22, 0x58, 32]), decode(y)];
    const cose = Buffer.concat([Buffer.from([0xa5, 1, 2, 3, 0x26, 0x20, 1]), ...point]);
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, this.id.length]), this.id, cose]);
    const data = this.#data(options.rp.id, 0x40, attested);
    const head = Buffer.concat([
      Buffer.from([0xa3, 0x63]),
      Buffer.from('fmt'),
      Buffer.from([0x64]),
      Buffer.from('none'),
    ]);
    const rest = Buffer.concat([
      Buffer.from([0x67]),
      Buffer.from('attStmt'),
      Buffer.from([0xa0, 0x68]),
      Buffer.from('authData'),
      Buffer.from([0x59, data.length >> 8, data.length & 255]),
      data,
    ]);
    const response = {
      clientDataJSON: this.#clientData('webauthn.create', options.challenge),
      attestationObject: encode(Buffer.concat([head, rest])),
      transports: ['internal'],
      authenticatorData: encode(data),
      publicKey: encode(this.key.publicKey.export({ format: 'der', type: 'spki' })),
      publicKeyAlgorithm: -7,
    };
    return await browser.call('POST', '/api/auth/passkey/verify-registration', {
      name,
      response: this.#credential(response),
    });
  }

  async signIn(browser: Browser) {
    const asked = await browser.call<Asked>('POST', '/api/auth/passkey/generate-authenticate-options');
    return asked.status === 200 ? await this.answer(browser, asked.body) : asked;
  }

  async answer(browser: Browser, asked: Asked) {
    const data = this.#data(asked.rpId, 0, Buffer.alloc(0));
    const clientDataJSON = this.#clientData('webauthn.get', asked.challenge);
    const signed = Buffer.concat([data, createHash('sha256').update(decode(clientDataJSON)).digest()]);
    const signature = createSign('sha256').update(signed).sign(this.key.privateKey);
    const response = { clientDataJSON, authenticatorData: encode(data), signature: encode(signature) };
    return await browser.call('POST', '/api/auth/passkey/verify-authentication', {
      response: this.#credential(response),
    });
  }

  #credential(response: object) {
    const id = encode(this.id);
    // The whole JSON form of the standard; password managers answer extensions that nobody asked for.
    const more = { authenticatorAttachment: 'platform', clientExtensionResults: { credProps: { rk: true } } };
    return { id, rawId: id, type: 'public-key', response, ...more };
  }

  #clientData(type: string, challenge: string): string {
    const data = { type, challenge: this.challenge ?? challenge, origin: this.origin };
    return encode(Buffer.from(JSON.stringify(data)));
  }

  #data(rpId: string, flags: number, more: Buffer): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(++this.#counter);
    const flag = Buffer.from([flags | 0x01 | (this.ownerChecked ? 0x04 : 0)]);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), flag, counter, more]);
  }
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url');
}

function decode(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
