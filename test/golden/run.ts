import { GoldenBackend, type Reply } from './backend.ts';
import type { ClientRequest, GoldenCase, Step } from './case.ts';
import { CATALOGS, ENV } from './catalog.ts';
import { sendRequest, type PendingAnswer } from './client.ts';
import { GoldenGateway } from './gateway.ts';
import { headerOf, parseMessage, type Message } from './message.ts';
import { bodyText, messageText, section } from './transcript.ts';

/** Requests whose start says that they cost something and so have a receipt. */
const PAID =
  /^POST \S+\/(?:(?:chat\/)?completions|messages|responses|embeddings|images\/(?:generations|edits)|\S+:(?:stream)?[gG]enerateContent)(?:\?\S*)? /;
/** Longer than any deadline of a backend, shorter than what would end a request for another reason. */
const MINUTE_MS = 61_000;
/** After this the gateway's timers have noted that nothing new came. */
const MOMENT_MS = 2_000;

const LONGEST_CASE_MS = 60_000;
/** Most of a case is waiting for the disk and for timers, so several run at once, each with a gateway of its own. */
const RUNNERS = 4;

/** Runs all cases and hands over each recording as soon as it is there. */
export async function runAll(
  cases: readonly GoldenCase[],
  done: (golden: GoldenCase, recording: Promise<string>) => unknown,
): Promise<void> {
  const left = [...cases];
  const work = async (): Promise<void> => {
    const runner = new Runner();
    for (let next = left.shift(); next; next = left.shift()) {
      const recording = runner.run(next);
      done(next, recording);
      await recording.catch(() => undefined);
    }
    await runner.stop();
  };
  await Promise.all(Array.from({ length: RUNNERS }, work));
}

/** Runs cases one by one and writes down what went over the wire. */
class Runner {
  readonly #backend = new GoldenBackend();
  readonly #shared = new Map<string, Promise<GoldenGateway>>();

  async run(golden: GoldenCase): Promise<string> {
    const gateway = await this.#gatewayFor(golden);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`${golden.name} does not end`)), LONGEST_CASE_MS);
    try {
      return await Promise.race([this.#play(golden, gateway), late.promise]);
    } finally {
      clearTimeout(timer);
      if (golden.fresh) await gateway.stop();
    }
  }

  async stop(): Promise<void> {
    for (const gateway of this.#shared.values()) await (await gateway).stop();
    this.#backend.stop();
  }

  async #gatewayFor({ catalog = 'main', fresh = false }: GoldenCase): Promise<GoldenGateway> {
    const start = (): Promise<GoldenGateway> =>
      GoldenGateway.start(CATALOGS[catalog](this.#backend.origin), ENV);
    if (fresh) return await start();
    const shared = this.#shared.get(catalog) ?? start();
    this.#shared.set(catalog, shared);
    return await shared;
  }

  async #play(golden: GoldenCase, gateway: GoldenGateway): Promise<string> {
    const backend = this.#backend;
    backend.script(golden.replies ?? []);
    gateway.random.reset(golden.name);
    const email = `${golden.name.replace(/[^a-z0-9]+/g, '.')}@example.com`;
    const { token } = await gateway.account(email, golden.account ?? {});
    if (golden.lost) await gateway.loseTable(golden.lost);
    const told = { gateway, token };
    const exchanges: { readonly sent: Message; readonly answer: Promise<Message> }[] = [];
    const answers: Message[] = [];
    for (const step of golden.steps) {
      if (step.drain) gateway.drain();
      const wanted = typeof step.send === 'function' ? step.send(answers) : step.send;
      const bytes = requestBytes(wanted, token);
      const calls = backend.calls.length;
      const pending = await sendRequest(gateway.url, bytes);
      exchanges.push({ sent: readBack(bytes), answer: pending.answer });
      if (step.background && step.during?.seen === undefined) await backend.called(calls + 1);
      else if (step.background) await pending.seen(step.during?.seen ?? '');
      else {
        await this.#meanwhile(step, pending, { ...told, calls });
        answers.push(await pending.answer);
      }
    }
    backend.release();
    const parts = [`# ${golden.name}\n`];
    const receipts: string[] = [];
    for (const [index, { sent, answer }] of exchanges.entries()) {
      const which = exchanges.length > 1 ? ` ${index + 1}` : '';
      const came = await answer;
      parts.push(section(`client → gateway${which}`, messageText(sent)));
      parts.push(section(`gateway → client${which}`, messageText(came)));
      if (!golden.lost && !golden.steps.some(isStopping) && PAID.test(sent.start))
        receipts.push(section(`receipt${which}`, await receiptText(came, told)));
    }
    return [...parts, ...callSections(backend.calls), ...receipts].join('\n');
  }

  async #meanwhile({ during }: Step, pending: PendingAnswer, told: Told & { calls: number }): Promise<void> {
    if (!during) return;
    const { gateway, calls } = told;
    if (during.seen === undefined) await this.#backend.called(calls + 1);
    else await pending.seen(during.seen);
    switch (during.happens) {
      case 'backend goes on':
        return this.#backend.release();
      case 'client leaves':
        return pending.leave();
      case 'gateway stops':
        return gateway.cutAll();
      case 'a minute passes':
        gateway.clock.advance(MOMENT_MS);
        await gateway.clock.seen();
        gateway.clock.advance(MINUTE_MS);
    }
  }
}

function isStopping({ drain, during }: Step): boolean {
  return drain === true || during?.happens === 'gateway stops';
}

interface Told {
  readonly gateway: GoldenGateway;
  readonly token: string;
}

function callSections(calls: readonly { readonly request: Message; readonly reply: Reply }[]): string[] {
  return calls.flatMap(({ request, reply }, index) => {
    const which = calls.length > 1 ? ` ${index + 1}` : '';
    const { status = 200, headers = {}, body, after: next } = reply;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const ending = next === undefined || next === 'end' ? '' : `\n(then: ${next})`;
    const answer = [`HTTP/1.1 ${status}`, ...lines, '', bodyText(Buffer.from(body))].join('\n');
    return [
      section(`gateway → backend${which}`, messageText(request)),
      section(`backend → gateway${which}`, answer + ending),
    ];
  });
}

/** What the client could read about its bill afterwards; a request that is still open is waited for. */
async function receiptText(answer: Message, { gateway, token }: Told): Promise<string> {
  const id = headerOf(answer, 'x-request-id');
  if (id === undefined) return '(no request id)';
  const path = `/api/public/v1/requests/${id}`;
  for (let tries = 0; tries < 1_000; tries++) {
    const request = requestBytes(
      { method: 'GET', path, headers: { authorization: 'Bearer {token}' } },
      token,
    );
    const receipt = await (await sendRequest(gateway.url, request)).answer;
    const text = receipt.body.toString();
    if (receipt.start.includes(' 404')) return '(none)';
    if (!receipt.start.includes(' 200')) return receipt.start;
    if (!text.includes('"state":"pending"')) return text;
    await Bun.sleep(10);
  }
  throw new Error(`request ${id} was never settled`);
}

function requestBytes({ method, path, headers = {}, body = '' }: ClientRequest, token: string): Buffer {
  const content = Buffer.from(body);
  const withLength =
    content.length === 0 || 'content-length' in headers
      ? headers
      : { ...headers, 'content-length': String(content.length) };
  const lines = Object.entries({ host: 'tollgate.example', ...withLength }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`.replaceAll('{token}', token);
  return Buffer.concat([Buffer.from(head), content]);
}

function readBack(bytes: Buffer): Message {
  const parsed = parseMessage(bytes, { isRequest: true, isClosed: true });
  if (!parsed) throw new Error('the request of a case has no end of headers');
  // A body that is announced and never sent is how some cases fail on purpose.
  return { ...parsed.message, isCut: false };
}
