import { placesFor, type Endpoint } from '../catalog/catalog.ts';
import { Fault } from '../std/fault.ts';
import type { CostlyField } from '../wire/field-table.ts';
import { providerChoiceOf, type ProviderChoice } from '../wire/openai/chat.ts';
import type { Call, Quote } from './call.ts';

/**
 * The quote with the backends that the request itself chooses in its field `provider`, where its endpoint lets clients
 * choose. A name that may not be chosen is refused like one that does not exist, so that nobody learns names by trying.
 */
export function withChosenBackends<Q extends Quote>(quote: Q, call: Call<unknown>): Q {
  const { endpoint } = quote.route;
  const { provider: asked } = call.request as { provider?: unknown };
  if (endpoint.selectable === undefined || asked === undefined) return quote;
  const choice = providerChoiceOf(asked);
  refuseUnknown('order', choice.order, endpoint.selectable);
  refuseUnknown('only', choice.only, endpoint.selectable);
  const places = chosenPlaces(placesFor(quote.route), choice);
  if (places.length === 0)
    throw new Fault('invalid_field', 'provider.order and provider.only have no backend in common.', {
      param: 'provider',
    });
  return {
    ...quote,
    route: {
      ...quote.route,
      endpoint: { ...endpoint, places, placesByModel: undefined },
      hasFallbacks: choice.allowFallbacks || choice.order !== undefined,
    },
  };
}

/** Whether the field `provider` has chosen backends of this endpoint; then it is not sent to them. */
export function isBackendChoice({ field }: CostlyField, { selectable }: Endpoint): boolean {
  return field === 'provider' && selectable !== undefined;
}

function refuseUnknown(
  field: string,
  names: readonly string[] | undefined,
  selectable: ReadonlySet<string>,
): void {
  const unknown = names?.findIndex((name) => !selectable.has(name)) ?? -1;
  if (unknown === -1) return;
  const known = [...selectable].join(', ');
  throw new Fault('invalid_field', `provider.${field} may name these backends: ${known}.`, {
    param: `provider.${field}.${unknown}`,
  });
}

function chosenPlaces(places: Endpoint['places'], choice: ProviderChoice): Endpoint['places'] {
  const { order, only, allowFallbacks } = choice;
  const allowed = only ? withMembers(places, (name) => only.includes(name)) : places;
  if (!order) return allowed;
  const members = allowed.flat();
  const first = [...new Set(order)].flatMap((name) => {
    const member = members.find(({ upstream }) => upstream === name);
    return member ? [[member]] : [];
  });
  if (first.length === 0 || !allowFallbacks) return first;
  return [...first, ...withMembers(allowed, (name) => !order.includes(name))];
}

function withMembers(places: Endpoint['places'], isKept: (upstream: string) => boolean): Endpoint['places'] {
  return places
    .map((place) => place.filter(({ upstream }) => isKept(upstream)))
    .filter((place) => place.length > 0);
}
