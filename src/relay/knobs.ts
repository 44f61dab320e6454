import { hasPriceFor, type Endpoint, type Model } from '../catalog/catalog.ts';
import { Fault } from '../std/fault.ts';
import type { CostlyField, Knobs } from '../wire/field-table.ts';
import { isBackendChoice } from './backend-choice.ts';
import type { Call, ChatCall, Quote, RelayParts } from './call.ts';

/**
 * Refuses fields that cost extra, unless the model has a price for them or an upstream of the endpoint passes them. What
 * only a backend of the client's own dialect would see concerns only endpoints that have one.
 */
export function checkKnobs(call: Call<unknown>, { route }: Quote, parts: RelayParts): void {
  for (const costly of call.knobs?.costly ?? []) {
    if (isOptional(costly) || isBackendChoice(costly, route.endpoint) || isServed(costly, route, parts))
      continue;
    const isSeen =
      isWholeField(costly) || upstreamsOf(route.endpoint).some((name) => isNative(call, name, parts));
    if (isSeen) throw refusal(costly);
  }
}

/** Whether what a field asks for can come: the model has a price for it, or a backend gets it by the operator's word. */
export function isServed(
  costly: CostlyField,
  { model, endpoint }: Quote['route'],
  parts: RelayParts,
): boolean {
  return (
    isPriced(costly, model) ||
    upstreamsOf(endpoint).some((name) => passFields(name, parts)?.has(costly.field) === true)
  );
}

/** The upstream that gets a request, or has answered it. */
interface KnobTarget {
  readonly quote: Quote;
  readonly upstream: string;
  readonly parts: RelayParts;
}

/**
 * The request as one upstream may have it: without what costs extra and has no price, and what the model has no use for;
 * with what the upstream passes.
 */
export function knobsFor<Request extends object>(
  request: Request,
  knobs: Knobs,
  target: KnobTarget,
): Request {
  const { endpoint, model } = target.quote.route;
  const passed = passFields(target.upstream, target.parts);
  const more = [...knobs.unknown].filter(([field]) => passed?.has(field));
  const less = knobs.costly.filter(
    (costly) => isBackendChoice(costly, endpoint) || (!isPriced(costly, model) && !passed?.has(costly.field)),
  );
  return {
    ...(model.reasoning ? request : withoutReasoning(request, knobs)),
    ...Object.fromEntries(more),
    // JSON leaves `undefined` out. Tools are checked before: those of a request are all passed, or it was refused.
    ...Object.fromEntries(less.filter(isWholeField).map(({ field }) => [field, undefined])),
  };
}

/**
 * A backend refuses these options for a model that does not reason. The paths are those of the client's dialect;
 * translated, all of them are the canonical `reasoning_effort`.
 */
function withoutReasoning<Request extends object>(request: Request, { reasoning }: Knobs): Request {
  if (reasoning.length === 0) return request;
  const rest: Record<string, unknown> = { ...request, reasoning_effort: undefined };
  for (const path of reasoning) {
    const [field = '', option] = path.split('.');
    rest[field] = option === undefined ? undefined : withoutMember(rest[field], option);
  }
  // The same request with fewer fields, all of which may be absent.
  return rest as Request;
}

/** `undefined` where nothing else is left. */
function withoutMember(value: unknown, name: string): unknown {
  const others = Object.entries(value ?? {}).filter(([key]) => key !== name);
  return others.length === 0 ? undefined : Object.fromEntries(others);
}

/** `x-tollgate-dropped`: what the client sent and this upstream did not get. */
export function droppedNames(knobs: Knobs, call: Call<unknown>, target: KnobTarget): string | undefined {
  const { quote, upstream, parts } = target;
  const { endpoint, model } = quote.route;
  const passed = passFields(upstream, parts);
  const native = isNative(call, upstream, parts);
  const costly = knobs.costly.filter(
    (one) =>
      !isBackendChoice(one, endpoint) &&
      ((!isWholeField(one) && !native) || (!isPriced(one, model) && !passed?.has(one.field))),
  );
  const names = [
    ...[...knobs.unknown.keys()].filter((field) => !passed?.has(field)),
    ...costly.map(({ field, nativeName }) => nativeName ?? field),
    ...(model.reasoning ? [] : knobs.reasoning),
    ...knobs.leftOut,
  ];
  const shown = [...new Set(names)].filter((name) => SHOWN_NAME.test(name)).slice(0, MAX_SHOWN);
  return shown.length === 0 ? undefined : shown.join(', ');
}

/** Names come from the client, and go into a header. */
const SHOWN_NAME = /^[\w.-]{1,64}$/;
const MAX_SHOWN = 20;

function isPriced({ cost }: CostlyField, model: Model): boolean {
  return 'price' in cost && hasPriceFor(model, cost.price);
}

function isOptional({ cost }: CostlyField): boolean {
  return 'price' in cost && cost.isOptional === true;
}

function isWholeField({ nativeName }: CostlyField): boolean {
  return nativeName === undefined;
}

function upstreamsOf({ places }: Endpoint): string[] {
  return places.flatMap((place) => place.map(({ upstream }) => upstream));
}

function passFields(upstream: string, parts: RelayParts): ReadonlySet<string> | undefined {
  return parts.catalog().upstreams.get(upstream)?.passFields;
}

/** Whether an upstream gets the request as the client wrote it. */
function isNative(call: Call<unknown> | ChatCall, upstream: string, parts: RelayParts): boolean {
  return 'nativeRequest' in call && parts.catalog().upstreams.get(upstream)?.speaksMessages === true;
}

function refusal({ field, cost }: CostlyField): Fault {
  const why =
    'price' in cost ? `it costs extra, and this model has no price for it (${cost.price}).` : cost.refusal;
  return new Fault('invalid_field', `${field} is not supported here: ${why}`, { param: field });
}
