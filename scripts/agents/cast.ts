import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A coding agent, and how its own documentation says to point it at another server. */
export interface Agent {
  readonly name: string;
  readonly npmPackage: string;
  /** The package that holds its program for this machine, where npm does not say by itself that it is missing. */
  readonly programPackage?: string;
  readonly command: string;
  /** Headless, with leave to write files. */
  readonly arguments: readonly string[];
  /** A program of our own, for a kit that people build agents from; `command` runs it. */
  readonly script?: string;
  readonly alsoInstalls?: readonly string[];
  /** The version of Node that it needs at least, installed beside it: the machine's own may be older. */
  readonly nodeVersion?: string;
  /** With a key that is none it must end at once, after a single request. */
  readonly stopsAtWrongKey?: true;
  environment(place: Place): Record<string, string>;
  /** Files it needs, by path. */
  files(place: Place): Record<string, string>;
  /** What its documentation says to run once, after the program's own name. */
  setUp?(place: Place): readonly string[];
  /** How a model writes a file with the agent's own tools. */
  writeFile(file: string, content: string): ToolCall;
}

/** Where one run takes place. */
export interface Place {
  readonly home: string;
  readonly project: string;
  readonly url: string;
  readonly token: string;
}

export interface ToolCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

export const MODEL = 'svc_chat/m';
export const TASK = 'Create a file hello.txt that says: hello from tollgate';

/** For Claude Code, and for the kit that runs it. */
export const CLAUDE_CODE_SETTINGS: Readonly<Record<string, string>> = {
  ANTHROPIC_MODEL: MODEL,
  ANTHROPIC_DEFAULT_HAIKU_MODEL: MODEL,
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: '200000',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
};

export const AGENTS: readonly Agent[] = [
  {
    name: 'Claude Code',
    npmPackage: '@anthropic-ai/claude-code',
    command: 'claude',
    arguments: ['-p', TASK, '--permission-mode', 'acceptEdits'],
    environment: ({ url, token }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: token,
      ...CLAUDE_CODE_SETTINGS,
    }),
    files: () => ({}),
    writeFile: (file, content) => ({ name: 'Write', arguments: { file_path: file, content } }),
  },
  {
    name: 'Codex',
    npmPackage: '@openai/codex',
    command: 'codex',
    arguments: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', TASK],
    environment: ({ token }) => ({ TOLLGATE_TOKEN: token }),
    files: ({ home, url }) => ({ [join(home, '.codex', 'config.toml')]: codexConfig(url) }),
    writeFile: (file, content) => ({
      name: 'exec_command',
      arguments: { cmd: `printf '%s' '${content}' > '${file}'` },
    }),
  },
  {
    name: 'opencode',
    npmPackage: 'opencode-ai',
    programPackage: `opencode-${process.platform}-${process.arch}`,
    command: 'opencode',
    arguments: ['run', TASK],
    environment: ({ token }) => ({
      TOLLGATE_TOKEN: token,
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
    }),
    files: ({ project, url }) => ({ [join(project, 'opencode.json')]: openCodeConfig(url) }),
    writeFile: (file, content) => ({ name: 'write', arguments: { filePath: file, content } }),
  },
];

export async function putFiles(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

function codexConfig(url: string): string {
  return `model = "${MODEL}"
model_provider = "tollgate"
model_context_window = 200000

[model_providers.tollgate]
name = "Tollgate"
base_url = "${url}/v1"
env_key = "TOLLGATE_TOKEN"
wire_api = "responses"
`;
}

function openCodeConfig(url: string): string {
  const options = { baseURL: `${url}/v1`, apiKey: '{env:TOLLGATE_TOKEN}' };
  const tollgate = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Tollgate',
    options,
    models: { [MODEL]: { name: 'Your model' } },
  };
  const config = { model: `tollgate/${MODEL}`, small_model: `tollgate/${MODEL}`, provider: { tollgate } };
  return JSON.stringify({ $schema: 'https://opencode.ai/config.json', ...config }, null, 2);
}
