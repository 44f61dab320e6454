import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseCatalog } from '../catalog/parse.ts';
import { discoverLocalServers, LOCAL_SERVERS, type FoundServer } from './local-servers.ts';

type Handler = (request: Request) => Response | Promise<Response>;
const servers: Bun.Server<undefined>[] = [];

function listen(handler: Handler): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handler });
  servers.push(server);
  return server.port ?? 0;
}

let ollama = 0;
let others: number[] = [];

beforeAll(() => {
  ollama = listen((request) =>
    new URL(request.url).pathname === '/v1/models'
      ? Response.json({
          object: 'list',
          data: [{ id: 'llama3.2:3b' }, { id: 'qwen/qwen3-4b' }, { id: 'has space' }, {}],
        })
      : new Response('', { status: 404 }),
  );
  others = [
    listen(() => new Response('<html>a web shop</html>')),
    listen(() => new Response('{"data":"none"}')),
    listen(() => Response.json({ data: [{ id: 'never' }] }, { status: 401 })),
    listen(() => Response.redirect(`http://127.0.0.1:${ollama}/v1/models`)),
    listen(() => new Promise<Response>(() => undefined)),
    1,
  ];
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop(true)));
});

describe('local model servers', () => {
  test('one that lists models is found; anything else on the default ports is ignored', async () => {
    const found = await find([ollama, ...others]);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      name: 'Server 0',
      baseUrl: `http://127.0.0.1:${ollama}/v1`,
      models: ['llama3.2:3b', 'qwen/qwen3-4b'],
    });
  });

  test('the suggested lines are a catalog that offers its models', async () => {
    const [server] = await find([ollama]);
    const catalog = parseCatalog(server?.yaml ?? '', { fileName: 'tollgate.yaml', env: {} });
    expect(catalog.upstreams.get('server0')).toMatchObject({
      kind: 'openai',
      baseUrl: `http://127.0.0.1:${ollama}/v1`,
    });
    expect(catalog.endpoints.get('server0')?.models.map(({ id, free }) => [id, free])).toEqual([
      ['llama3.2:3b', true],
      ['qwen/qwen3-4b', true],
    ]);
  });

  test('the default ports are those of Ollama, LM Studio, llama.cpp and vLLM', () => {
    expect(LOCAL_SERVERS.map(({ port }) => port)).toEqual([11434, 1234, 8080, 8000]);
  });
});

function find(ports: readonly number[]): Promise<FoundServer[]> {
  return discoverLocalServers(
    ports.map((port, index) => ({ name: `Server ${index}`, key: `server${index}`, port })),
  );
}
