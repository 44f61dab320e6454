/**
 * The least a gateway on Bun can do: read the request, look into its JSON, forward it, return the answer.
 * Usage: bun bench/contenders/bun-forwarder.ts PORT BACKEND_URL
 */
const [, , port, backend] = process.argv;
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-backend' };

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  development: false,
  routes: {
    '/v1/chat/completions': {
      POST: async (request) => {
        const body = (await request.json()) as { readonly stream?: boolean };
        const answer = await fetch(`${backend}/chat/completions`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        });
        const type = answer.headers.get('content-type') ?? 'application/json';
        const content = body.stream === true ? answer.body : await answer.arrayBuffer();
        return new Response(content, { status: answer.status, headers: { 'content-type': type } });
      },
    },
  },
});
