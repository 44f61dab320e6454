/**
 * The least a gateway on Node can do, with the fastest client there is for it. Node runs this file as it is.
 * Usage: node bench/contenders/node-forwarder.ts PORT BACKEND_URL
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'undici';

const [, , port, backend = ''] = process.argv;
const { origin, pathname } = new URL(backend);
const pool = new Pool(origin, { connections: null, pipelining: 1 });
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-backend' };

createServer((request, response) => {
  forward(request, response).catch(() => response.destroy());
}).listen(Number(port), '127.0.0.1');

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as { readonly stream?: boolean };
  const answer = await pool.request({
    method: 'POST',
    path: `${pathname}/chat/completions`,
    headers,
    body: JSON.stringify(body),
  });
  const type = String(answer.headers['content-type'] ?? 'application/json');
  if (body.stream === true) {
    response.writeHead(answer.statusCode, { 'content-type': type });
    await pipeline(answer.body, response);
    return;
  }
  const text = await answer.body.text();
  response.writeHead(answer.statusCode, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
