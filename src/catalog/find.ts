import { Fault } from '../std/fault.ts';
import {
  modelsById,
  resolve,
  type Catalog,
  type Endpoint,
  type EndpointType,
  type Route,
} from './catalog.ts';

/**
 * Finds what a `/v1` client means by its model name: an alias, `code/model`, or a bare model id if exactly one endpoint
 * of this kind has it. Model ids may contain slashes themselves, so `code/` counts only before a known code.
 */
export function findRoute(catalog: Catalog, modelName: string, type: EndpointType): Route {
  const alias = catalog.aliases.get(modelName);
  if (alias) return resolve(catalog, { code: alias.endpoint, model: alias.model, type });
  const holders = endpointsWith(catalog, modelName).filter((endpoint) => endpoint.type === type);
  const qualified = qualify(catalog, modelName);
  if (qualified && (holders.length === 0 || hasModel(qualified.endpoint, qualified.model))) {
    return resolve(catalog, { code: qualified.endpoint.code, model: qualified.model, type });
  }
  const [only, ...others] = holders;
  if (!only) throw notFound(catalog, modelName, type);
  if (others.length > 0) throw ambiguous(modelName, holders);
  return resolve(catalog, { code: only.code, model: modelName, type });
}

function qualify(catalog: Catalog, name: string): { endpoint: Endpoint; model: string } | undefined {
  const slash = name.indexOf('/');
  const endpoint = slash < 0 ? undefined : catalog.endpoints.get(name.slice(0, slash));
  return endpoint && { endpoint, model: name.slice(slash + 1) };
}

function endpointsWith(catalog: Catalog, model: string): Endpoint[] {
  return [...catalog.endpoints.values()].filter(
    (endpoint) => !endpoint.unavailable && hasModel(endpoint, model),
  );
}

function hasModel(endpoint: Endpoint, model: string): boolean {
  return modelsById(endpoint).has(model);
}

function notFound(catalog: Catalog, name: string, type: EndpointType): Fault {
  const [elsewhere] = endpointsWith(catalog, name);
  if (elsewhere)
    return new Fault('unsupported_model', `Model '${shorten(name)}' is for another kind of request.`, {
      param: 'model',
    });
  const example = [...catalog.endpoints.values()].find(
    (endpoint) => endpoint.type === type && endpoint.models.length > 0,
  );
  const hint = example
    ? ` Ask for one from the model list, such as '${example.code}/${example.models[0]?.id}'.`
    : '';
  return new Fault('unsupported_model', `There is no model '${shorten(name)}'.${hint}`, { param: 'model' });
}

const MOST_CHOICES = 8;

function ambiguous(name: string, holders: readonly Endpoint[]): Fault {
  const choices = holders.slice(0, MOST_CHOICES).map((endpoint) => `${endpoint.code}/${name}`);
  const more = holders.length > MOST_CHOICES ? ', …' : '';
  return new Fault(
    'unsupported_model',
    `Several endpoints have '${name}'; ask for one of: ${choices.join(', ')}${more}.`,
    {
      param: 'model',
    },
  );
}

/** A name comes from the client and may be long. */
function shorten(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}
