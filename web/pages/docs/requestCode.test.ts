import { expect, test } from 'bun:test';
import { CODE_LANGUAGES, requestCode, type CodeLanguage, type CodeRequest } from './requestCode.ts';

const REQUEST: CodeRequest = {
  method: 'POST',
  url: 'http://127.0.0.1:8700/v1/chat/completions',
  needsToken: true,
  body: {
    model: "it's",
    messages: [{ role: 'user', content: 'Say "hi"\n$HOME' }],
    stop: null,
    stream: false,
  },
};

/** Runs the program with its way to send replaced, to see what it would send. */
const RUN = {
  curl: async (code: string): Promise<unknown> => {
    const shell = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${code}`;
    const words = (await outputOf(['sh', '-c', shell])).split('\0');
    return JSON.parse(words[words.indexOf('-d') + 1] ?? '');
  },
  javascript: async (code: string): Promise<unknown> => {
    const fetch = 'globalThis.fetch = async (_, { body }) => ({ json: async () => body });';
    return JSON.parse(await outputOf([process.execPath, '-e', `${fetch}\n${code}`]));
  },
};

async function outputOf(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { env: { ...process.env, TOLLGATE_TOKEN: 'sk-test' }, stderr: 'inherit' });
  return await new Response(child.stdout).text();
}

test.each(['curl', 'javascript'] as const)(
  'what is sent by %s is the example, whatever is in it',
  async (language) => {
    expect(await RUN[language](requestCode(language, REQUEST))).toEqual(REQUEST.body);
  },
);

test('Python gets its own words for true, false and null', () => {
  const code = requestCode('python', REQUEST);
  expect(code).toContain('"stop": None');
  expect(code).toContain('"stream": False');
  expect(code).toContain('"content": "Say \\"hi\\"\\n$HOME"');
  expect(code).not.toContain('stream=True');
  expect(requestCode('python', { ...REQUEST, body: { stream: true } })).toContain('stream=True');
});

test('a request without token and body says nothing of them', () => {
  for (const language of Object.keys(CODE_LANGUAGES) as CodeLanguage[]) {
    const code = requestCode(language, {
      method: 'GET',
      url: 'http://127.0.0.1:8700/api/hello',
      needsToken: false,
    });
    expect(code).toContain('/api/hello');
    expect(code).not.toMatch(/TOLLGATE_TOKEN|json=|JSON\.stringify|-d /);
  }
});
