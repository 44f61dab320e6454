import type { RefusedCall, RefusedCalls } from '../activity/refused-calls.ts';
import type { PlaygroundCall } from '../console/playground-relay.ts';
import type { IncomingRequest } from '../http/router.ts';
import { lastingCaller } from '../ledger/decide.ts';
import type { Caller } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import { redact } from '../std/log.ts';
import type { RequestRecord } from '../std/request-record.ts';

/** A client's texts are cut to these lengths. */
const CHARACTERS = { name: 200, param: 100, message: 300 };

interface RefusedIncoming {
  readonly incoming: IncomingRequest;
  readonly caller: Caller;
  readonly client: string;
  readonly thrown: unknown;
}

/** Notes a refused call for the lists of its owner and of the operator; it is written to the store later. */
export function noteRefusal(
  refusedCalls: Pick<RefusedCalls, 'add'>,
  { incoming, caller, client, thrown }: RefusedIncoming,
): void {
  if (!isRefusal(thrown)) return;
  const { requestId, requestRecord, path, parameters } = incoming;
  const [inPath] = parameters;
  refusedCalls.add({
    caller: lastingCaller(caller),
    requestId,
    operation: operationOf(path),
    endpoint: shortText(requestRecord.endpoint ?? requestRecord.askedEndpoint, CHARACTERS.name),
    model: shortText(requestRecord.model ?? inPath ?? requestRecord.askedModel, CHARACTERS.name),
    client: shortText(client, CHARACTERS.name),
    ...reasonOf(thrown, requestRecord),
  });
}

interface RefusedInPlayground {
  readonly asked: PlaygroundCall;
  readonly endpoint: unknown;
  readonly model: unknown;
  readonly thrown: unknown;
}

export function notePlaygroundRefusal(
  refusedCalls: Pick<RefusedCalls, 'add'>,
  { asked, endpoint, model, thrown }: RefusedInPlayground,
): void {
  if (!isRefusal(thrown)) return;
  const { requestId, accountId, client, requestRecord } = asked;
  refusedCalls.add({
    caller: { kind: 'account', id: accountId },
    requestId,
    operation: PLAYGROUND,
    endpoint: shortText(endpoint, CHARACTERS.name),
    model: shortText(model, CHARACTERS.name),
    client,
    ...reasonOf(thrown, requestRecord),
  });
}

const PLAYGROUND = '/app/playground';

/**
 * What the caller can fix. The owner of a call with a wrong token is not known, and our own failures have logs and
 * receipts.
 */
function isRefusal(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && thrown.status < 500 && thrown.status !== 401;
}

/**
 * A backend's message about a request may repeat the prompt, and so may a parser's: of those only the reason is kept.
 */
function reasonOf(
  fault: Fault,
  requestRecord: Pick<RequestRecord, 'upstream'> | undefined,
): Pick<RefusedCall, 'status' | 'reason' | 'param' | 'message'> {
  const { status, code, extra } = fault;
  const param = fault.param !== undefined && FIELD.test(fault.param) ? fault.param : undefined;
  if (requestRecord?.upstream !== undefined)
    return { status, reason: 'backend_refused', param, message: undefined };
  const reason = typeof extra['reason'] === 'string' ? extra['reason'] : code;
  const message = code === 'invalid_json' ? undefined : shortText(redact(fault.message), CHARACTERS.message);
  return { status, reason, param, message };
}

const FIELD = new RegExp(`^[\\w.\\-[\\]]{1,${CHARACTERS.param}}$`);

/** Postgres takes no NUL in a text. */
function shortText(value: unknown, characters: number): string {
  return typeof value === 'string' ? value.slice(0, characters).replaceAll('\0', '') : '';
}

/** The path without a model's name in it. */
function operationOf(path: string): string {
  return path.replace(/^(\/v1beta\/models\/).*(?=:)/, '$1{model}').slice(0, CHARACTERS.name);
}
