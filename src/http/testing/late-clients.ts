import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { text } from 'node:stream/consumers';

/**
 * Clients whose connections are made, one half of which ask at once and the other when the input ends. They write the
 * file when they are connected, and print how many were answered.
 */
const [port = '', connectedFile = '', transport = ''] = process.argv.slice(2);
const CLIENTS = 20;

const mayAsk = text(process.stdin);
const connections = await Promise.all(
  Array.from({ length: CLIENTS }, async () => {
    const connection = connect({ port: Number(port), host: '127.0.0.1' });
    await once(connection, 'connect');
    return connection;
  }),
);
const early = connections.slice(CLIENTS / 2).map((connection) => isAnswered(connection));
writeFileSync(connectedFile, '');
await mayAsk;
const late = connections.slice(0, CLIENTS / 2).map((connection) => isAnswered(connection));
const answered = (await Promise.all([...early, ...late])).filter(Boolean);
console.log(`${answered.length} answered`);

async function isAnswered(connection: Socket): Promise<boolean> {
  const socket =
    transport === 'TLS' ? connectTls({ socket: connection, rejectUnauthorized: false }) : connection;
  const answer = text(socket).catch(() => '');
  socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n');
  return (await answer).startsWith('HTTP/1.1 200');
}
