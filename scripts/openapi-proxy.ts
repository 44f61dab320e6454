/**
 * `npm run openapi:proxy`: more than two hundred requests through Prism, a proxy that checks each request and each answer
 * against the public document. Prism is installed into a temporary folder; not part of `npm test`.
 */
import { Gateway } from '../test/support/gateway.ts';
import { documentedRequests, type DocumentedRequest } from './openapi/requests.ts';
import { installTools, type ToolFolder } from './openapi/tools.ts';

const PRISM = '@stoplight/prism-cli@5.16.0';
const START_MS = 120_000;
const REQUEST_MS = 60_000;
const LEAST_REQUESTS = 200;

interface Violation {
  readonly location: readonly (string | number)[];
  readonly severity: string;
  readonly message: string;
}

const tools = await installTools([PRISM]);
const gateway = await Gateway.start({ env: { TOLLGATE_CONFIG: '' } });
const proxy = startPrism(tools, gateway.url);
try {
  const url = await proxy.url;
  const tokens = {
    rich: (await gateway.account('100')).token,
    poor: (await gateway.account('0')).token,
    wrong: `${(await gateway.account('0')).token.slice(0, -4)}0000`,
  };
  const requests = documentedRequests();
  const faults: string[] = [];
  const statuses = new Map<number, number>();
  let receipt: string | undefined;
  for (const request of requests) {
    const response = await send(url, request, tokens);
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    faults.push(...faultsOf(request, response));
    receipt ??=
      response.headers.get('x-tollgate-cost') === null
        ? undefined
        : (response.headers.get('x-request-id') ?? undefined);
    await response.arrayBuffer();
  }
  const looked = { method: 'GET', path: `/api/public/v1/requests/${receipt}` } as const;
  const last = await send(url, looked, tokens);
  faults.push(...faultsOf(looked, last), ...(last.status === 200 ? [] : [`${looked.path}: ${last.status}`]));
  for (const fault of faults) console.error(`✗ ${fault}`);
  const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  console.log(`${requests.length + 1} requests (${counts.join(', ')}), ${faults.length} mismatches`);
  process.exitCode = faults.length === 0 && requests.length >= LEAST_REQUESTS ? 0 : 1;
} finally {
  proxy.stop();
  await gateway.stop();
  tools.remove();
}

function send(
  url: string,
  { method, path, body, headers, as }: DocumentedRequest,
  tokens: { rich: string; poor: string; wrong: string },
): Promise<Response> {
  const token = as === 'none' ? undefined : tokens[as ?? 'rich'];
  return fetch(url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
}

/** What Prism found. Of a request that is meant to be wrong, only what it found in the answer. */
function faultsOf({ method, path, isInvalid }: DocumentedRequest, response: Response): string[] {
  const header = response.headers.get('sl-violations');
  const violations = header === null ? [] : (JSON.parse(header) as Violation[]);
  const counted = violations.filter(({ location: [side] }) => side !== 'request' || !isInvalid);
  // Every answer of Tollgate has one; without, Prism has answered itself.
  const own = response.headers.has('x-request-id')
    ? []
    : [`${method} ${path}: Prism answered ${response.status}`];
  return [
    ...own,
    ...counted.map(
      ({ location, message }) => `${method} ${path} ${response.status}: ${location.join('.')}: ${message}`,
    ),
  ];
}

function startPrism({ program, document, folder, environment }: ToolFolder, upstream: string) {
  const child = Bun.spawn(
    [program('prism'), 'proxy', document, upstream, '--port', '0', '--host', '127.0.0.1'],
    {
      cwd: folder,
      env: environment,
      stdout: 'pipe',
      stderr: 'inherit',
    },
  );
  return { url: addressOf(child.stdout), stop: () => child.kill() };
}

async function addressOf(output: ReadableStream<Uint8Array>): Promise<string> {
  const found = Promise.withResolvers<string>();
  const timer = setTimeout(() => found.reject(new Error('Prism did not start')), START_MS);
  void (async () => {
    const decoder = new TextDecoder();
    let text = '';
    // Read to the end, so that it is never held up by a full pipe.
    for await (const bytes of output) {
      if (text.length < 100_000) text += decoder.decode(bytes, { stream: true });
      const url = /listening on (http:\/\/[\d.]+:\d+)/i.exec(text)?.[1];
      if (url !== undefined) found.resolve(url);
    }
    found.reject(new Error(`Prism ended: ${text.slice(-2_000)}`));
  })();
  return await found.promise.finally(() => clearTimeout(timer));
}
