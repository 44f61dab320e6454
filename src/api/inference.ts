import { z } from 'zod';
import type { EndpointType, Route } from '../catalog/catalog.ts';
import { findRoute } from '../catalog/find.ts';
import type { IncomingRequest } from '../http/router.ts';
import { hasKey } from '../http/idempotency/idempotency.ts';
import { SMALL_BODY_BYTES, type JsonBody } from '../http/request-body.ts';
import { eventStreamAnswer } from '../http/response.ts';
import type { Caller, RateKind } from '../ledger/port.ts';
import { catalogOf, tokenErrorOr } from '../relay/admission.ts';
import type { CallBase, ChatReply, RouteSelector } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { nextTurn } from '../std/turns.ts';
import { minNano, parseUsd, type NanoUsd } from '../std/money.ts';
import type { ApiOperation, ApiParts } from './operation.ts';
import { noteRefusal } from './refusals.ts';

/** What differs between the inference operations that take JSON and an `Idempotency-Key`. */
interface InferenceSteps<C extends CallBase> {
  readonly rate: RateKind;
  /** The call that a body asks for. Throws a fault if the body is invalid. */
  read(base: CallBase, body: Record<string, unknown>, parts: ApiParts, incoming: IncomingRequest): C;
  /** Relays the call and presents the reply. */
  answer(call: C, parts: ApiParts, incoming: IncomingRequest): Promise<Response>;
  /** For a key whose answer is no longer kept: makes it again from what else is stored of the request. */
  restore?(
    call: C,
    of: DoneRequest,
    parts: ApiParts,
    incoming: IncomingRequest,
  ): Promise<Response | undefined>;
}

/** A request that an earlier call with the same key has made. */
export interface DoneRequest {
  readonly requestId: string;
  readonly accountId: AccountId;
}

export function inference<C extends CallBase>(steps: InferenceSteps<C>): ApiOperation['handle'] {
  return (parts) => (incoming) => serve(steps, incoming, parts);
}

async function serve<C extends CallBase>(
  steps: InferenceSteps<C>,
  incoming: IncomingRequest,
  parts: ApiParts,
): Promise<Response> {
  const caller = enter(incoming, parts);
  try {
    let body: JsonBody;
    let call: C;
    try {
      body = await incoming.body.json();
      call = steps.read(callOf(incoming, caller, body), body.value, parts, incoming);
    } catch (thrown) {
      throw await tokenErrorOr(thrown, { caller, rate: steps.rate }, parts.relay);
    }
    if (body.size.bytes > SMALL_BODY_BYTES) await nextTurn();
    return hasKey(incoming)
      ? await serveOnce(steps, incoming, parts, { call, text: body.text })
      : await steps.answer(call, parts, incoming);
  } catch (thrown) {
    throw noted(thrown, incoming, caller, parts);
  }
}

/** A call with a key continues when its client leaves. */
function serveOnce<C extends CallBase>(
  steps: InferenceSteps<C>,
  incoming: IncomingRequest,
  parts: ApiParts,
  { call, text }: { readonly call: C; readonly text: string },
): Promise<Response> {
  const restore = (requestId: string, accountId: AccountId) =>
    steps.restore?.(call, { requestId, accountId }, parts, incoming) ?? Promise.resolve(undefined);
  return parts.idempotency.run(incoming, { caller: call.caller, text, restore }, (keyed) =>
    steps.answer({ ...call, ...keyed }, parts, incoming),
  );
}

/** For the other operations that do work for a caller. */
export function work(
  does: (incoming: IncomingRequest, caller: Caller, parts: ApiParts) => Promise<Response>,
): ApiOperation['handle'] {
  return (parts) => async (incoming) => {
    const caller = enter(incoming, parts);
    try {
      return await does(incoming, caller, parts);
    } catch (thrown) {
      throw noted(thrown, incoming, caller, parts);
    }
  };
}

/** A known caller takes a request slot. */
function enter(incoming: IncomingRequest, { callerAuth }: ApiParts): Caller {
  const caller = callerAuth.caller(incoming);
  incoming.identify(caller);
  incoming.takeSlot();
  return caller;
}

/** A refusal is noted for the account. */
function noted(
  thrown: unknown,
  incoming: IncomingRequest,
  caller: Caller,
  { refusedCalls }: ApiParts,
): unknown {
  noteRefusal(refusedCalls, { incoming, caller, client: clientOf(incoming.request), thrown });
  return thrown;
}

const CLIENT_CHARACTERS = 200;

export function callOf(
  incoming: IncomingRequest,
  caller: Caller,
  { size, value }: Pick<JsonBody, 'size' | 'value'>,
): CallBase {
  const { requestId, requestRecord } = incoming;
  const { headers } = incoming.request;
  const client = clientOf(incoming.request);
  requestRecord.askedModel = value['model'];
  requestRecord.askedEndpoint = value['endpoint'] ?? value['endpoint_code'];
  const maxCost = takeMaxCost(value, headers.get(MAX_COST_HEADER));
  const tags = saidTags(value);
  return { requestId, caller, client, connection: incoming, size, maxCost, requestRecord, tags };
}

/** Most requests say nothing about themselves. */
export function saidTags({ user, metadata }: JsonBody['value']): CallBase['tags'] {
  return user === undefined && metadata === undefined ? undefined : { user, metadata };
}

function clientOf({ headers }: Request): string {
  return (headers.get('user-agent') ?? '').slice(0, CLIENT_CHARACTERS);
}

const MAX_COST_HEADER = 'x-tollgate-max-cost';

/** The lower of field and header. The field is set to `undefined` in the body, so that it is not sent on. */
function takeMaxCost(body: Record<string, unknown>, header: string | null): NanoUsd | undefined {
  const field = body['max_cost_usd'] ?? undefined;
  if (field === undefined && header === null) return undefined;
  if (field !== undefined) body['max_cost_usd'] = undefined;
  const limits = [
    ...(field === undefined ? [] : [maxCostOf(field, 'max_cost_usd')]),
    ...(header === null ? [] : [maxCostOf(header, MAX_COST_HEADER)]),
  ];
  return limits.reduce(minNano);
}

function maxCostOf(value: unknown, param: string): NanoUsd {
  const amount = typeof value === 'string' || typeof value === 'number' ? parseUsd(value) : undefined;
  if (amount !== undefined) return amount;
  throw new Fault('invalid_field', `${param} must be an amount of US dollars such as 0.05.`, { param });
}

/** The client's own limit, which every inference operation takes. */
export const MAX_COST_FIELD = {
  max_cost_usd: z
    .union([z.number(), z.string()])
    .optional()
    .describe('The request costs at most this many US dollars. The header x-tollgate-max-cost is the same.'),
};

/** Under `/v1` the endpoint code is part of the model's name, because its clients have no field for it. */
// oxlint-disable-next-line max-params -- whose name it is, and what it is a name of
export function routeSelector(
  { relay }: Pick<ApiParts, 'relay'>,
  { caller }: Pick<CallBase, 'caller'>,
  name: string,
  type: EndpointType,
): RouteSelector {
  const { endpoint, model } = routeFor(relay, caller, name, type);
  return { code: endpoint.code, model: model.id, type };
}

/**
 * In the catalog that the caller's wallet was last seen to see. Where that does not have it, all that is sold decides what the
 * name means, and the quote decides whether the caller may have it: the wallet may be in another group by now.
 */
// oxlint-disable-next-line max-params -- as above
function routeFor(relay: ApiParts['relay'], caller: Caller, name: string, type: EndpointType): Route {
  const seen = catalogOf(relay, caller);
  try {
    return findRoute(seen, name, type);
  } catch (thrown) {
    const sold = relay.catalog();
    if (sold === seen) throw thrown;
    try {
      return findRoute(sold, name, type);
    } catch {
      // What is told is about what the caller sees.
      throw thrown;
    }
  }
}

/** The fields that name the endpoint in a body of the public API. */
export const ENDPOINT_FIELDS = {
  ...MAX_COST_FIELD,
  endpoint: z.string().optional().describe('Endpoint code. Not needed when model is written code/model.'),
  endpoint_code: z.string().optional().describe('The same as endpoint; one of the two is enough.'),
};

/**
 * `endpoint` and `endpoint_code` are two names of one field. It is set to `undefined` in the body, so that it is not
 * sent on.
 */
export function takeEndpointCode(body: Record<string, unknown>): string | undefined {
  const endpoint = body['endpoint'] ?? undefined;
  const code = body['endpoint_code'] ?? undefined;
  if (endpoint !== undefined) requireCode(endpoint, 'endpoint');
  if (code !== undefined) requireCode(code, 'endpoint_code');
  if (endpoint !== undefined && code !== undefined && endpoint !== code) {
    throw new Fault('invalid_field', 'endpoint and endpoint_code name different endpoints.', {
      param: 'endpoint_code',
    });
  }
  if (endpoint !== undefined) body['endpoint'] = undefined;
  if (code !== undefined) body['endpoint_code'] = undefined;
  return (endpoint ?? code) as string | undefined;
}

function requireCode(value: unknown, param: string): void {
  if (typeof value === 'string' && value !== '') return;
  throw new Fault('invalid_field', `${param} must be an endpoint code.`, { param });
}

/** Without an endpoint code, the model's name may contain it: `code/model`. */
export function splitModel(code: string | undefined, model: string): { code: string; model: string } {
  if (code !== undefined) return { code, model };
  const slash = model.indexOf('/');
  if (slash > 0) return { code: model.slice(0, slash), model: model.slice(slash + 1) };
  throw new Fault('missing_field', 'endpoint is required.', { param: 'endpoint' });
}

export function streamResponse(reply: Extract<ChatReply, { kind: 'stream' }>): Response {
  return eventStreamAnswer(reply.body, reply.summary);
}
