import type { EndpointType } from '../catalog/catalog.ts';
import { findRoute } from '../catalog/find.ts';
import type { Wanted } from '../relay/call.ts';
import type { Edge } from '../http/caller.ts';

/** The endpoint code comes with the model's name, because these clients have no field for it. */
export function wantedOf(edge: Edge, name: string, type: EndpointType): Wanted {
  const { endpoint, model } = findRoute(edge.parts.catalog(), name, type);
  return { code: endpoint.code, model: model.id, type };
}
