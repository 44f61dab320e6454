import { privateTarget } from '../std/addresses.ts';
import { readJsonAnswer } from '../std/json-answer.ts';
import { LOCAL_MODEL_LIST } from './answer-rules.ts';

/** A model server found on this machine, and the catalog lines that offer its models. */
export interface FoundServer {
  /** Shown to people: `Ollama`. */
  readonly name: string;
  /** Its name in the catalog, and that of its preset. */
  readonly key: string;
  readonly baseUrl: string;
  readonly models: readonly string[];
  /** Lines for `tollgate.yaml`. */
  readonly yaml: string;
}

interface LocalServer {
  readonly name: string;
  /** Its name in the catalog. */
  readonly key: string;
  readonly port: number;
}

/** Servers that speak OpenAI's API, with their default ports. */
export const LOCAL_SERVERS: readonly LocalServer[] = [
  { name: 'Ollama', key: 'ollama', port: 11434 },
  { name: 'LM Studio', key: 'lmstudio', port: 1234 },
  { name: 'llama.cpp', key: 'llamacpp', port: 8080 },
  { name: 'vLLM', key: 'vllm', port: 8000 },
];

/** Asks each default port on loopback for its models. Anything that does not answer like such a server is ignored. */
export async function discoverLocalServers(
  servers: readonly LocalServer[] = LOCAL_SERVERS,
): Promise<FoundServer[]> {
  const found = await Promise.all(servers.map(probePort));
  return found.filter((server) => server !== undefined);
}

const TIMEOUT_MS = 300;
const MAX_MODELS = 50;

async function probePort(server: LocalServer): Promise<FoundServer | undefined> {
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const models = await modelsAt(`${baseUrl}/models`);
  if (models.length === 0) return undefined;
  return { name: server.name, key: server.key, baseUrl, models, yaml: yamlFor(server, baseUrl, models) };
}

async function modelsAt(url: string): Promise<string[]> {
  try {
    const target = privateTarget(new URL(url));
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(target.url, { ...target.options, redirect: 'error', signal });
    if (!response.ok) {
      await response.body?.cancel();
      return [];
    }
    const { value } = await readJsonAnswer(response, LOCAL_MODEL_LIST);
    return modelIds(value);
  } catch {
    // Nothing listens, too slow, too large, or not JSON: not a model server.
    return [];
  }
}

/** OpenAI's list of models. Ids that the catalog cannot hold are left out. */
function modelIds(body: unknown): string[] {
  const data: unknown = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined;
  if (!Array.isArray(data)) return [];
  const ids = data.map((entry: unknown) =>
    typeof entry === 'object' && entry !== null && 'id' in entry ? entry.id : undefined,
  );
  return ids
    .filter((id) => typeof id === 'string')
    .filter((id) => /^[^\s\p{C}]{1,200}$/u.test(id))
    .slice(0, MAX_MODELS);
}

/** Free, because it runs on the operator's own machine; the operator can add prices. JSON strings are valid YAML. */
function yamlFor({ name, key }: LocalServer, baseUrl: string, models: readonly string[]): string {
  return [
    'upstreams:',
    `  ${key}: { kind: openai, base_url: ${baseUrl} }`,
    'lists:',
    `  ${key}_models:`,
    ...models.map(
      (model) =>
        `    - { model: ${JSON.stringify(model)}, free: true }   # or input: and output:, USD per million tokens`,
    ),
    'endpoints:',
    `  ${key}: { name: ${name}, type: chat_completion, lists: [${key}_models], upstreams: [${key}] }`,
  ].join('\n');
}
