/** Names of programming languages are not translated. */
export const CODE_LANGUAGES = { curl: 'curl', javascript: 'JavaScript', python: 'Python' } as const;
export type CodeLanguage = keyof typeof CODE_LANGUAGES;

export interface CodeRequest {
  readonly method: string;
  readonly url: string;
  readonly needsToken: boolean;
  readonly body?: unknown;
}

/** A request of the reference as a program that can be run as it stands, without a package of ours. */
export function requestCode(language: CodeLanguage, request: CodeRequest): string {
  return BUILDERS[language](request);
}

const BUILDERS: Record<CodeLanguage, (request: CodeRequest) => string> = { curl, javascript, python };

function curl({ method, url, needsToken, body }: CodeRequest): string {
  const lines = [
    `curl ${method === 'GET' || body !== undefined ? '' : `-X ${method} `}${shellWord(url)}`,
    ...(needsToken ? ['-H "Authorization: Bearer $TOLLGATE_TOKEN"'] : []),
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d ${shellWord(json(body, '  '))}`]),
  ];
  return lines.join(' \\\n  ');
}

function javascript({ method, url, needsToken, body }: CodeRequest): string {
  const headers = [
    ...(needsToken ? ['Authorization: `Bearer ${process.env.TOLLGATE_TOKEN}`'] : []),
    ...(body === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: {\n    ${headers.join(',\n    ')},\n  }`] : []),
    ...(body === undefined ? [] : [`body: JSON.stringify(${json(body, '  ')})`]),
  ];
  const call = options.length > 0 ? `, {\n  ${options.join(',\n  ')},\n}` : '';
  const stream = isStream(body)
    ? 'for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) console.log(chunk);'
    : 'console.log(await response.json());';
  return `const response = await fetch(${JSON.stringify(url)}${call});\n${stream}`;
}

function python({ method, url, needsToken, body }: CodeRequest): string {
  const options = [
    JSON.stringify(url),
    ...(needsToken ? [`headers={"Authorization": f"Bearer {os.environ['TOLLGATE_TOKEN']}"}`] : []),
    ...(body === undefined ? [] : [`json=${pythonLiteral(body, '    ')}`]),
    ...(isStream(body) ? ['stream=True'] : []),
  ];
  const read = isStream(body)
    ? 'for line in response.iter_lines(decode_unicode=True):\n    print(line)'
    : 'print(response.json())';
  return `${needsToken ? 'import os\n' : ''}import requests

response = requests.${method.toLowerCase()}(
    ${options.join(',\n    ')},
)
${read}`;
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
}

function json(value: unknown, indent: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`);
}

/** A JSON value as a Python literal; strings are written the same in both. */
function pythonLiteral(value: unknown, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const deeper = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((item) => pythonLiteral(item, deeper))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonLiteral(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return lines.length === 0
    ? `${open}${close}`
    : `${open}\n${deeper}${lines.join(`,\n${deeper}`)},\n${indent}${close}`;
}

function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
