import { describe, expect, test } from 'bun:test';
import { OPERATIONS } from '../../src/api/operations.ts';
import type { ApiOperation } from '../../src/api/operation.ts';
import { recordedFiles } from './files.ts';

/** What the operations declare, and with it the OpenAPI document, against the bytes that were recorded. */

interface Recorded {
  readonly where: string;
  readonly operation: ApiOperation;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A backend that leaves out even the reason to finish; what is not there is not made up. */
const SPARSE = 'chat/sparse-answer.http';

const recorded = (await Promise.all(recordedFiles().map(exchangesIn))).flat();

describe('every recorded', () => {
  test('error has a code that its operation declares, in the shape of its dialect', () => {
    const failed = recorded.filter(({ status, body }) => status >= 400 && status !== 405 && isJson(body));
    expect(failed.length).toBeGreaterThan(150);
    const undeclared = failed.filter(({ operation, body }) => !declares(operation, JSON.parse(body)));
    expect(undeclared.map(({ where, operation }) => `${where}: ${operation.id}`)).toEqual([]);
  });

  test('answer is valid by the schema that its operation declares', () => {
    const answered = recorded.filter(
      ({ where, status, body }) => status === 200 && isJson(body) && !where.endsWith(SPARSE),
    );
    for (const { where, operation, headers, body } of answered) {
      const { body: usual, asyncBody } = operation.answer;
      const isAsync = headers.get('preference-applied') === 'respond-async';
      const result = (isAsync ? asyncBody : usual)?.schema.safeParse(JSON.parse(body));
      expect({ where, problems: result?.error?.issues }).toEqual({ where, problems: undefined });
    }
    const seen = new Set(answered.map(({ operation }) => operation.id));
    const typed = OPERATIONS.filter(({ answer }) => answer.body).map(({ id }) => id);
    expect(typed.filter((id) => !seen.has(id))).toEqual([]);
  });

  test('event of a stream is valid by the chunk schema, or is an error that is declared', () => {
    let events = 0;
    for (const { where, operation, body, headers } of recorded) {
      if (headers.get('content-type')?.startsWith('text/event-stream') !== true) continue;
      for (const [, data = ''] of body.matchAll(/^data: (\{.*\})$/gm)) {
        events++;
        const value: unknown = JSON.parse(data);
        const chunk = operation.answer.stream?.chunk.safeParse(value);
        if (chunk?.success) continue;
        const isError = operation.answer.stream?.hasErrorEvent === true && declares(operation, value);
        expect({ where, data, isError, problems: chunk?.error?.issues }).toMatchObject({ isError: true });
      }
    }
    expect(events).toBeGreaterThan(500);
  });

  test('answer has the headers that its operation declares', () => {
    for (const { where, operation, status, headers } of recorded) {
      if (status !== 200) continue;
      const isPaid = headers.has('x-tollgate-held');
      const hasRate = headers.has('x-ratelimit-remaining-requests');
      const found = isPaid ? 'paid' : hasRate ? 'rate' : 'none';
      // Without a token there is nobody whose rate it could be.
      const expected = operation.token === 'optional' && !hasRate ? 'none' : operation.answer.headers;
      expect({ where, found, id: headers.has('x-request-id') }).toEqual({ where, found: expected, id: true });
    }
  });
});

test('every code that an operation declares is one that some operation was seen to give', () => {
  const seen = new Set(recorded.map(({ body }) => (isJson(body) ? codeOf(JSON.parse(body)) : undefined)));
  const declared = new Set(OPERATIONS.flatMap(({ errors }) => errors));
  expect([...declared].filter((code) => !seen.has(code))).toEqual([]);
});

function declares(operation: ApiOperation, body: unknown): boolean {
  const code = codeOf(body);
  return operation.dialect.schema.safeParse(body).success && operation.errors.some((one) => one === code);
}

function codeOf(body: unknown): string | undefined {
  const { error } = body as {
    error?: {
      code?: string | number;
      details?: { error_code?: string } | { metadata?: { code?: string } }[];
    };
  };
  const details = error?.details;
  const code = Array.isArray(details)
    ? details[0]?.metadata?.code
    : typeof error?.code === 'string'
      ? error.code
      : details?.error_code;
  // Anthropic's clients look for this word in place of the code.
  return code === 'thread_not_found' ? 'not_found' : code;
}

function isJson(text: string): boolean {
  return text.startsWith('{') || text.startsWith('[');
}

/** What clients asked for and got, where the path is an operation's. */
async function exchangesIn(file: string): Promise<Recorded[]> {
  const sections = (await Bun.file(file).text()).split(/^=== /m).slice(1);
  return sections.flatMap((section, place) => {
    const answer = sections[place + 1];
    if (!section.startsWith('client → gateway') || !answer?.startsWith('gateway → client')) return [];
    const operation = operationOf(section);
    if (!operation) return [];
    const [head = '', ...rest] = answer.slice(answer.indexOf('\n') + 1).split('\n\n');
    const [start = '', ...lines] = head.split('\n');
    const headers = new Map(lines.map((line) => line.split(': ', 2) as [string, string]));
    const status = Number(start.split(' ')[1]);
    return [{ where: file, operation, status, headers, body: rest.join('\n\n').trim() }];
  });
}

function operationOf(request: string): ApiOperation | undefined {
  const [, method, target = ''] = /^([A-Z]+) (\S+) HTTP/m.exec(request) ?? [];
  const path = target.replace(/\?.*/, '').replace(/\/{2,}/g, '/');
  const found = OPERATIONS.find((operation) => operation.method === method && pattern(operation).test(path));
  // Some editors post the newer shape to the older path, and are answered in it.
  const isResponses = found?.id === 'v1CreateChatCompletion' && /"input":/.test(request);
  return isResponses ? OPERATIONS.find(({ id }) => id === 'v1CreateResponse') : found;
}

function pattern({ path, parameters = [] }: ApiOperation): RegExp {
  const source = parameters.reduce(
    (text, { name, hasSlashes }) => text.replace(`{${name}}`, hasSlashes ? '.+' : '[^/]+'),
    path,
  );
  return new RegExp(`^${source}/?$`);
}
