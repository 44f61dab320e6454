import type { EndpointType } from '../catalog/catalog.ts';
import { findRoute } from '../catalog/find.ts';
import type { RouteSelector } from '../relay/call.ts';
import type { CallerAuth } from '../http/caller.ts';

/** The endpoint code comes with the model's name, because these clients have no field for it. */
export function routeSelector(callerAuth: CallerAuth, name: string, type: EndpointType): RouteSelector {
  const { endpoint, model } = findRoute(callerAuth.parts.catalog(), name, type);
  return { code: endpoint.code, model: model.id, type };
}
