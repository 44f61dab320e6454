import { afterEach, expect, test } from 'bun:test';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { checkMailServer } from './mail-channel.ts';
import { MailServer, type MailServerOptions } from './testing/mail-server.ts';

/** What `tollgate doctor` says of the operator's mail server. */

const FROM = { name: 'Gate', address: 'gate@example.com' };
const PASSWORD = 'the password of the mail server';
let server: MailServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function checked(login: string, options: MailServerOptions = {}) {
  server = await MailServer.start(options);
  const { host } = new URL(server.config.smtpUrl);
  const { ok, line } = await checkMailServer({ smtpUrl: `smtp://${login}${host}`, from: FROM }, 10_000);
  expect(line).not.toContain(encodeURIComponent(PASSWORD));
  expect(line).not.toContain(PASSWORD);
  expect(server.received).toEqual([]);
  return { ok, line: line.replace(host, 'HOST') };
}

const login = (password: string): string => `gate:${encodeURIComponent(password)}@`;

test('a server that would take a mail is told, and gets none', async () => {
  const good = { ok: true, line: 'mail: HOST can be used, from gate@example.com' };
  expect(await checked('')).toEqual(good);
  expect(await checked(login(PASSWORD), { password: PASSWORD })).toEqual(good);
});

test('a wrong password, or one where the server knows no login, is a sentence', async () => {
  const refused = {
    ok: false,
    line: expect.stringMatching(/^mail: HOST does not accept the user and the password/),
  };
  expect(await checked(login('another one'), { password: PASSWORD })).toEqual(refused);
  expect(await checked(login(PASSWORD))).toEqual(refused);
});

test('so is a certificate that cannot be trusted', async () => {
  expect(await checked('', { offersTls: true })).toEqual({
    ok: false,
    line: expect.stringMatching(/^mail: HOST cannot be used: .*certificate/),
  });
});

test('so is a server that is not there, speaks something else, or says nothing', async () => {
  const peers: [(listening: Server) => void, RegExp, timeoutMs?: number][] = [
    [(listening) => void listening.close(), /cannot be used: .*ECONNREFUSED/],
    [
      (listening) => void listening.on('connection', (socket) => socket.end('HTTP/1.1 400\r\n\r\n')),
      /cannot be used: /,
    ],
    [() => undefined, /cannot be used: .*(?:no answer|timeout|Greeting)/i, 500],
  ];
  for (const [behave, sentence, timeoutMs = 10_000] of peers) {
    const listening = createServer().listen(0, '127.0.0.1');
    // A TCP server's address is an object with a port.
    const { port } = listening.address() as AddressInfo;
    behave(listening);
    const { ok, line } = await checkMailServer(
      { smtpUrl: `smtp://127.0.0.1:${port}`, from: FROM },
      timeoutMs,
    );
    expect({ ok, line }).toEqual({ ok: false, line: expect.stringMatching(sentence) });
    listening.close();
  }
});
