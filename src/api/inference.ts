import { z } from 'zod';
import type { EndpointType } from '../catalog/catalog.ts';
import { findRoute } from '../catalog/find.ts';
import type { Exchange } from '../http/caller.ts';
import { readJson, type JsonBody } from '../http/json-body.ts';
import { termHeaders } from '../http/respond.ts';
import type { Caller, RateKind } from '../ledger/port.ts';
import { preferTokenError } from '../relay/admission.ts';
import type { Call, ChatReply, RouteSelector } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

/** What every inference call says about itself, before it is known what it asks for. */
export type CallBase = Pick<Call<unknown>, 'requestId' | 'caller' | 'client' | 'signal' | 'size'>;

/** What differs between the inference operations that take JSON and an `Idempotency-Key`. */
export interface InferenceSteps<C extends CallBase> {
  readonly rate: RateKind;
  /** The call that a body asks for. Throws what is wrong with it. */
  read(base: CallBase, body: Record<string, unknown>, parts: ApiParts, exchange: Exchange): C;
  /** Relays the call and presents the reply. */
  answer(call: C, parts: ApiParts, exchange: Exchange): Promise<Response>;
}

export function inference<C extends CallBase>(steps: InferenceSteps<C>): ApiOperation['handle'] {
  return (parts) => (exchange) => serve(steps, exchange, parts);
}

async function serve<C extends CallBase>(
  steps: InferenceSteps<C>,
  exchange: Exchange,
  parts: ApiParts,
): Promise<Response> {
  const { callerAuth, idempotency } = parts;
  const caller = callerAuth.caller(exchange);
  const { call, body } = await preferTokenError({ caller, rate: steps.rate }, callerAuth.parts, async () => {
    const body = await readJson(exchange.request);
    return { call: steps.read(callOf(exchange, caller, body), body.value, parts, exchange), body };
  });
  return await idempotency.once(exchange, { caller, text: body.text }, (signal) =>
    // A call with a key is not ended by its client's leaving.
    steps.answer(signal ? { ...call, signal } : call, parts, exchange),
  );
}

const CLIENT_CHARACTERS = 200;

export function callOf(exchange: Exchange, caller: Caller, body: Pick<JsonBody, 'size'>): CallBase {
  const client = (exchange.request.headers.get('user-agent') ?? '').slice(0, CLIENT_CHARACTERS);
  return { requestId: exchange.requestId, caller, client, signal: exchange.signal, size: body.size };
}

/** Under `/v1` the endpoint code comes with the model's name, because its clients have no field for it. */
export function routeSelector({ callerAuth }: ApiParts, name: string, type: EndpointType): RouteSelector {
  const { endpoint, model } = findRoute(callerAuth.parts.catalog(), name, type);
  return { code: endpoint.code, model: model.id, type };
}

/** The fields by which a body of the public API names its endpoint. */
export const ENDPOINT_FIELDS = {
  endpoint: z.string().optional().describe('Endpoint code. Not needed when model is written code/model.'),
  endpoint_code: z.string().optional().describe('The same as endpoint; one of the two is enough.'),
};

/**
 * `endpoint` and `endpoint_code` are two names of one field. It is blanked in the body, which is ours alone: what is
 * `undefined` is not sent on.
 */
export function takeEndpointCode(body: Record<string, unknown>): string | undefined {
  const { endpoint, endpoint_code: code } = body;
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

/** Without an endpoint code the model may carry it: `code/model`. */
export function splitModel(code: string | undefined, model: string): { code: string; model: string } {
  if (code !== undefined) return { code, model };
  const slash = model.indexOf('/');
  if (slash > 0) return { code: model.slice(0, slash), model: model.slice(slash + 1) };
  throw new Fault('missing_field', 'endpoint is required.', { param: 'endpoint' });
}

/** A stream as a response: nothing on the way may buffer or compress it. */
export function streamResponse(reply: Extract<ChatReply, { kind: 'stream' }>): Response {
  const headers = termHeaders(reply.terms);
  headers.set('content-type', 'text/event-stream; charset=utf-8');
  headers.set('x-accel-buffering', 'no');
  return new Response(reply.body, { headers });
}
