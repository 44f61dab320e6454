import { join } from 'node:path';
import { CLAUDE_CODE_SETTINGS, MODEL, TASK, type Agent, type Place } from './cast.ts';

/** Further agents, and the two kits that people build their own from. */
export const MORE_AGENTS: readonly Agent[] = [
  {
    name: 'Qwen Code',
    npmPackage: '@qwen-code/qwen-code',
    command: 'qwen',
    arguments: ['--auth-type', 'openai', '--yolo', '-p', TASK],
    environment: ({ url, token }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: token,
      OPENAI_MODEL: MODEL,
    }),
    files: ({ home }) => ({
      [join(home, '.qwen', 'settings.json')]: JSON.stringify({
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, disableAutoUpdate: true },
      }),
    }),
    writeFile: (file, content) => ({ name: 'write_file', arguments: { file_path: file, content } }),
  },
  {
    name: 'Continue',
    npmPackage: '@continuedev/cli',
    command: 'cn',
    arguments: ['-p', TASK, '--auto', '--config', 'continue.yaml'],
    environment: () => ({ CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_ALLOW_ANONYMOUS_TELEMETRY: '0' }),
    files: (place) => ({ [join(place.project, 'continue.yaml')]: continueConfig(place) }),
    writeFile: (file, content) => ({ name: 'Write', arguments: { filepath: file, content } }),
  },
  {
    name: 'Cline',
    npmPackage: 'cline',
    command: 'cline',
    arguments: [TASK],
    environment: () => ({}),
    files: () => ({}),
    setUp: ({ url, token }) =>
      ['auth', '--provider', 'openai-compatible', '--modelid', MODEL].concat(
        ['--baseurl', `${url}/v1`],
        ['--apikey', token],
      ),
    writeFile: (file, content) => ({ name: 'editor', arguments: { path: file, new_text: content } }),
  },
  {
    name: 'pi',
    npmPackage: '@earendil-works/pi-coding-agent',
    programPackage: '@earendil-works/pi-tui',
    command: 'pi',
    nodeVersion: '22.23.3',
    arguments: ['-p', TASK, '--model', `tollgate/${MODEL}`],
    environment: ({ token }) => ({ TOLLGATE_TOKEN: token, PI_OFFLINE: '1', PI_TELEMETRY: '0' }),
    files: ({ home, url }) => ({ [join(home, '.pi', 'agent', 'models.json')]: piModels(url) }),
    writeFile: (file, content) => ({ name: 'write', arguments: { path: file, content } }),
  },
  {
    name: 'Gemini CLI',
    npmPackage: '@google/gemini-cli',
    command: 'gemini',
    arguments: ['--yolo', '-m', MODEL, '-p', TASK],
    environment: ({ url, token }) => ({
      GEMINI_API_KEY: token,
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    files: ({ home }) => ({
      [join(home, '.gemini', 'settings.json')]: JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, disableAutoUpdate: true },
      }),
    }),
    writeFile: (file, content) => ({ name: 'write_file', arguments: { file_path: file, content } }),
  },
  {
    name: 'Claude Agent SDK',
    npmPackage: '@anthropic-ai/claude-agent-sdk',
    command: 'node',
    arguments: [],
    script: claudeScript(),
    stopsAtWrongKey: true,
    environment: ({ url, token }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: token,
      ...CLAUDE_CODE_SETTINGS,
    }),
    files: () => ({}),
    writeFile: (file, content) => ({ name: 'Write', arguments: { file_path: file, content } }),
  },
  {
    name: 'OpenAI Agents SDK',
    npmPackage: '@openai/agents',
    command: 'node',
    arguments: [],
    alsoInstalls: ['zod@4'],
    script: openAiScript(),
    environment: ({ url, token }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: token,
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    }),
    files: () => ({}),
    writeFile: (file, content) => ({ name: 'write_file', arguments: { path: file, content } }),
  },
];

function continueConfig({ url, token }: Place): string {
  const model = { name: 'Tollgate', provider: 'openai', model: MODEL, apiBase: `${url}/v1`, apiKey: token };
  const roles = { roles: ['chat', 'edit', 'apply'], capabilities: ['tool_use'] };
  return JSON.stringify({
    name: 'tollgate',
    version: '1.0.0',
    schema: 'v1',
    models: [{ ...model, ...roles }],
  });
}

function piModels(url: string): string {
  const tollgate = {
    baseUrl: `${url}/v1`,
    api: 'openai-completions',
    apiKey: '$TOLLGATE_TOKEN',
    models: [{ id: MODEL }],
  };
  return JSON.stringify({ providers: { tollgate } });
}

function claudeScript(): string {
  return `import { query } from '@anthropic-ai/claude-agent-sdk';
let failed = true;
const options = { permissionMode: 'acceptEdits', cwd: process.cwd(), model: process.env.ANTHROPIC_MODEL };
try {
  for await (const message of query({ prompt: ${JSON.stringify(TASK)}, options })) {
    if (message.type !== 'result') continue;
    failed = message.is_error;
    console.log(message.result ?? message.errors?.join(' ') ?? message.subtype);
  }
} catch (error) {
  console.error(error.message);
}
process.exitCode = failed ? 1 : 0;
`;
}

function openAiScript(): string {
  return `import { writeFileSync } from 'node:fs';
import { Agent, run, tool } from '@openai/agents';
import { z } from 'zod';
const write = tool({
  name: 'write_file',
  description: 'Writes a file.',
  parameters: z.object({ path: z.string(), content: z.string() }),
  execute: async ({ path, content }) => (writeFileSync(path, content), 'written'),
});
const agent = new Agent({ name: 'Writer', instructions: 'Do the task.', model: '${MODEL}', tools: [write] });
try {
  console.log((await run(agent, ${JSON.stringify(TASK)})).finalOutput);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
`;
}
