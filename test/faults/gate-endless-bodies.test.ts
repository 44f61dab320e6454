import { afterEach, describe, expect, test } from 'bun:test';
import { StripeStandIn } from '../payments/stripe-stand-in.ts';
import { eventObject } from '../payments/stripe-objects.ts';
import { AttackedServer, BROWSER, headOf, type Client } from '../support/attacked-server.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** Strangers need no account to begin a body and never end it. Each takes a connection until it gives way to others. */

const MAX_FILES = 1_024;
const CROWD = 1_100;
const UNFINISHED_EVENTS = 101;
const WEBHOOK = '/webhooks/stripe';
/** Each with a body that says its length, and one that does not. */
const ENDLESS = ['/api/auth/sign-in/email', '/api/console/setup', WEBHOOK].flatMap((path) => [
  headOf(path, BROWSER, 60_000),
  `${headOf(path, BROWSER)}1\r\n \r\n`,
]);

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function start(options: { databaseUrl?: string; maxFiles?: number }) {
  const stripe = new StripeStandIn();
  cleanUps.push(() => stripe.stop());
  const server = await AttackedServer.start({ ...options, env: stripe.env });
  cleanUps.push(() => server.stop());
  return { server, stripe };
}

async function newDatabase(): Promise<string> {
  return await (await testPostgres()).freshDatabase();
}

const isOpen = ({ socket }: Client): boolean => !socket.destroyed;

/** On the store that needs connections, and so files, of its own. */
describe('bodies without an end', () => {
  test('keep nobody out and are dropped, though they are more than there are files', async () => {
    const { server } = await start({ maxFiles: MAX_FILES, databaseUrl: await newDatabase() });
    const crowd = Array.from({ length: CROWD }, (_one, index) =>
      server.send(ENDLESS[index % ENDLESS.length]!),
    );
    const answered = async (): Promise<boolean> => (await server.victimAnswer()) === '200';
    await eventually('somebody else is answered', answered, 60_000);
    expect(await server.node.probe('/healthz')).toBe(200);
    await eventually('most of them are dropped', () => crowd.filter(isOpen).length < CROWD / 4, 60_000);
    for (let chats = 0; chats < 10; chats++) expect(await server.victimAnswer()).toBe('200');
    await eventually('all of them are dropped', () => !crowd.some(isOpen), 60_000);
    expect(server.node.openSockets()).toBeLessThan(MAX_FILES / 8);
  }, 180_000);

  test('that pretend to be events keep no event out', async () => {
    const { server, stripe } = await start({ databaseUrl: await newDatabase() });
    const [unfinished] = ENDLESS.slice(-2);
    const pretenders = Array.from({ length: UNFINISHED_EVENTS }, () => server.send(unfinished!));
    const connected = (): boolean => pretenders.every(({ socket }) => socket.bytesWritten > 0);
    await eventually('they have sent what they send', connected);
    expect(await server.node.probe('/healthz')).toBe(200);
    const event = eventObject('evt_1', { type: 'customer.created', created: 1, object: { id: 'cus_1' } });
    const delivered = await server.during(async () => {
      for (let deliveries = 0; deliveries < 5; deliveries++)
        expect((await stripe.deliver(server.node.url, event)).status).toBe(200);
    });
    expect(delivered.victim).toEqual(['200']);
    expect(pretenders.filter(isOpen).length).toBeGreaterThan(0);
  }, 60_000);
});
