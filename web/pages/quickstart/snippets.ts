import type { Quickstart } from '../../lib/answers.ts';
import type { Strings } from '../../locales/en/index.ts';

/** Names of clients are not translated. */
export const CLIENTS = {
  curl: 'curl',
  python: 'Python',
  javascript: 'JavaScript',
  aisdk: 'AI SDK',
  claude: 'Claude Code',
  codex: 'Codex',
  editors: 'opencode · Cline · Cursor',
  webui: 'Open WebUI · LibreChat',
} as const;

export type Client = keyof typeof CLIENTS;

interface Filling {
  readonly origin: string;
  /** Known only while it is in memory after its creation. */
  readonly token: string | undefined;
  readonly endpoint: string;
  readonly model: string;
  readonly image: Quickstart['image'];
}

interface Snippets {
  readonly blocks: readonly { readonly caption: string; readonly code: string }[];
  readonly note?: keyof Strings['quickstart']['notes'];
}

export function snippets(client: Client, filling: Filling): Snippets {
  return BUILDERS[client](filling);
}

const BUILDERS: Record<Client, (filling: Filling) => Snippets> = {
  curl,
  python,
  javascript,
  aisdk,
  claude,
  codex,
  editors,
  webui,
};

function curl({ origin, token, endpoint, model, image }: Filling): Snippets {
  const key = token ?? '$TOLLGATE_TOKEN';
  const chat = `curl ${origin}/api/public/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "endpoint": "${endpoint}",
    "model": "${model}",
    "messages": [{ "role": "user", "content": "Hello!" }]
  }'`;
  const picture = image && {
    caption: 'Images',
    code: `curl ${origin}/api/public/v1/images/generations \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "endpoint_code": "${image.endpoint}",
    "model": "${image.model}",
    "prompt": "a toll gate at dawn"
  }'`,
  };
  return { blocks: [{ caption: 'Chat', code: chat }, ...(picture ? [picture] : [])] };
}

function python({ origin, token, endpoint, model }: Filling): Snippets {
  const key = token ? `"${token}"` : 'os.environ["TOLLGATE_TOKEN"]';
  const code = `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=${key})

stream = client.chat.completions.create(
    model="${endpoint}/${model}",
    messages=[{"role": "user", "content": "Hello!"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")`;
  return { blocks: [{ caption: 'pip install openai', code }], note: 'sdk' };
}

function javascript({ origin, token, endpoint, model }: Filling): Snippets {
  const key = token ? `'${token}'` : 'process.env.TOLLGATE_TOKEN';
  const code = `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: ${key},
});

const answer = await client.chat.completions.create({
  model: '${endpoint}/${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`;
  return { blocks: [{ caption: 'npm install openai', code }], note: 'sdk' };
}

function aisdk({ origin, token, endpoint, model }: Filling): Snippets {
  const key = token ? `'${token}'` : 'process.env.TOLLGATE_TOKEN';
  const code = `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const tollgate = createOpenAICompatible({
  name: 'tollgate',
  baseURL: '${origin}/v1',
  apiKey: ${key},
  includeUsage: true,
});

const { textStream } = streamText({
  model: tollgate('${endpoint}/${model}'),
  prompt: 'Hello!',
});
for await (const text of textStream) process.stdout.write(text);`;
  return { blocks: [{ caption: 'npm install ai @ai-sdk/openai-compatible', code }], note: 'sdk' };
}

function claude({ origin, token, endpoint, model }: Filling): Snippets {
  const code = `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${token ?? '$TOLLGATE_TOKEN'}
export ANTHROPIC_MODEL=${endpoint}/${model}
claude`;
  return { blocks: [{ caption: 'Shell', code }], note: 'claude' };
}

function codex({ origin, token, endpoint, model }: Filling): Snippets {
  const config = `model = "${endpoint}/${model}"
model_provider = "tollgate"

[model_providers.tollgate]
name = "Tollgate"
base_url = "${origin}/v1"
env_key = "TOLLGATE_TOKEN"
wire_api = "responses"`;
  const shell = token ? [{ caption: 'Shell', code: `export TOLLGATE_TOKEN=${token}\ncodex` }] : [];
  return { blocks: [{ caption: '~/.codex/config.toml', code: config }, ...shell], note: 'codex' };
}

function editors({ origin, token, endpoint, model }: Filling): Snippets {
  const opencode = JSON.stringify(
    {
      $schema: 'https://opencode.ai/config.json',
      provider: {
        tollgate: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Tollgate',
          options: { baseURL: `${origin}/v1`, apiKey: token ?? '{env:TOLLGATE_TOKEN}' },
          models: { [`${endpoint}/${model}`]: { name: model } },
        },
      },
    },
    null,
    2,
  );
  const fields = `API provider   OpenAI Compatible
Base URL       ${origin}/v1
API key        ${token ?? 'sk-…'}
Model          ${endpoint}/${model}`;
  return {
    blocks: [
      { caption: 'opencode.json', code: opencode },
      { caption: 'Cline, Cursor, Continue: settings', code: fields },
    ],
    note: 'editors',
  };
}

function webui({ origin, token, endpoint, model }: Filling): Snippets {
  const openWebUi = `docker run -d -p 3000:8080 \\
  -e OPENAI_API_BASE_URL=${origin}/v1 \\
  -e OPENAI_API_KEY=${token ?? '$TOLLGATE_TOKEN'} \\
  ghcr.io/open-webui/open-webui:main`;
  const libreChat = `endpoints:
  custom:
    - name: "Tollgate"
      baseURL: "${origin}/v1"
      apiKey: "${token ?? '${TOLLGATE_TOKEN}'}"
      models:
        fetch: true
        default: ["${endpoint}/${model}"]`;
  return {
    blocks: [
      { caption: 'Open WebUI', code: openWebUi },
      { caption: 'LibreChat: librechat.yaml', code: libreChat },
    ],
    note: 'webui',
  };
}
