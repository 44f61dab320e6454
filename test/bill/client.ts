import { connect, type Socket } from 'node:net';
import type { Cues } from './cues.ts';
import { endpointOf } from './models.ts';
import { HALFWAY, LAST, type Plan } from './plan.ts';
import { requestOf } from './requests.ts';

export interface ClientEnd {
  /** Absent if the client left before it had any. */
  readonly status: number | undefined;
  readonly text: string;
}

/** A request on a socket of its own, which the client closes when its plan says so. */
export async function performPlan(plan: Plan, url: string, token: string, cues: Cues): Promise<ClientEnd> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const ended = Promise.withResolvers<void>();
  const mayLeave = Promise.withResolvers<void>();
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    if (text.includes(plan.answer.failure?.at === 'after usage' ? LAST : HALFWAY)) cues.sawEnough();
    if (hasSeen(plan, text)) mayLeave.resolve();
    if (plan.ask.stopsReading && !socket.isPaused() && text.includes('data: {'))
      stopReading(plan, socket, cues);
  });
  socket.on('close', () => ended.resolve());
  socket.on('error', () => ended.resolve());
  if (hasSeen(plan, text)) mayLeave.resolve();
  socket.write(rawRequest(plan, token));
  if (plan.leave === 'never' || plan.clientStays) {
    await ended.promise;
  } else {
    await Promise.race([Promise.all([cues.reached, mayLeave.promise]), ended.promise]);
    // Both ways in which a client's program can be gone.
    if (plan.id % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
    cues.left();
  }
  cues.sawEnough();
  const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
  return { status: status === undefined ? undefined : Number(status), text };
}

/** What the client has not read fills all buffers up to the backend. */
function stopReading(plan: Plan, socket: Socket, cues: Cues): void {
  socket.pause();
  if (plan.leave === 'never') void cues.everythingWritten.then(() => socket.resume());
}

const FINISH = /"finish_reason":"[a-z_]+"/;

/** What the client must have read before it leaves. Before the first event there is nothing to read. */
function hasSeen(plan: Plan, text: string): boolean {
  if (plan.ask.stopsReading) return true;
  const hasHeaders = text.includes('\r\n\r\n');
  // Google's clients get a call in one piece, at the end.
  const isToldAtOnce = plan.dialect === 'gemini' && plan.answer.kind === 'tool call';
  // A translated stream ends in one piece, when the backend's has ended.
  const isOpenAi =
    (plan.dialect === 'public' || plan.dialect === 'v1') && endpointOf(plan.model) === 'svc_chat';
  switch (plan.leave) {
    case 'at first event':
      // Google has no event for an answer that has said nothing yet.
      return hasHeaders && (plan.dialect === 'gemini' || text.includes('data: {'));
    case 'in mid text':
      return isToldAtOnce ? hasHeaders : text.includes(HALFWAY);
    case 'after finish':
      if (isToldAtOnce) return hasHeaders;
      return isOpenAi ? FINISH.test(text) : text.includes(LAST);
    case 'after usage':
      if (isToldAtOnce) return hasHeaders;
      if (!isOpenAi) return text.includes(LAST);
      // Under /v1 the usage has the charge in it, which is known when the backend's stream has ended.
      if (plan.answer.usage === 'none' || plan.dialect === 'v1') return FINISH.test(text);
      return text.includes('"prompt_tokens"');
    case 'before headers':
    case 'at headers':
    case 'in mid body':
    case 'never':
      return true;
  }
}

function rawRequest(plan: Plan, token: string): string | Buffer {
  const { path, body } = requestOf(plan);
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = [
    `POST ${path} HTTP/1.1`,
    'host: tollgate',
    'content-type: application/json',
    `authorization: Bearer ${token}`,
    'anthropic-version: 2023-06-01',
    // The receipt keeps it: by this a request that was never answered is found.
    `user-agent: bill/${plan.id}`,
    `content-length: ${bytes.length}`,
    'connection: close',
    ...(plan.ask.idempotencyKey === undefined ? [] : [`idempotency-key: ${plan.ask.idempotencyKey}`]),
  ];
  return Buffer.concat([Buffer.from(`${headers.join('\r\n')}\r\n\r\n`), bytes]);
}
