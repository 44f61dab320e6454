import { curlCommand } from '../../requests/curl.ts';
import type { Dialect } from '../asCode.ts';
import type { ImageBody } from './order.ts';

interface CodedRequest {
  readonly body: ImageBody;
  readonly pictures: number;
  readonly hasMask: boolean;
}

/** Fields that OpenAI's Python client has parameters for; the others go into the body as they are. */
const PYTHON_FIELDS: ReadonlySet<string> = new Set([
  'model', 'prompt', 'n', 'size', 'quality', 'style', 'background', 'moderation', 'output_format',
  'output_compression', 'partial_images', 'stream', 'user', 'response_format',
]); // prettier-ignore

/** The request for a terminal or a program, which reads the token from the environment and pictures from files. */
export function imageAsCode(dialect: Dialect, origin: string, request: CodedRequest): string {
  const { partial_images: _, ...body } = request.body;
  const { endpoint, model, ...rest } = body;
  const named = { model: `${endpoint}/${model}`, ...rest };
  if (dialect === 'python') return python(origin, named, request);
  if (dialect === 'javascript') return javascript(origin, named, request);
  return request.pictures === 0
    ? curlCommand(`${origin}/v1/images/generations`, named, '$TOLLGATE_TOKEN')
    : curlForm(origin, named, request);
}

type Named = Readonly<Record<string, unknown>>;

function fileNames({ pictures }: CodedRequest): string[] {
  return Array.from({ length: pictures }, (_, index) => `picture-${index + 1}.png`);
}

function curlForm(origin: string, body: Named, request: CodedRequest): string {
  const fields = Object.entries(body).map(([name, value]) => `-F ${quoted(`${name}=${String(value)}`)}`);
  const files = fileNames(request).map((name) => `-F "image[]=@${name}"`);
  const mask = request.hasMask ? ['-F "mask=@mask.png"'] : [];
  return [
    `curl ${origin}/v1/images/edits`,
    '-H "Authorization: Bearer $TOLLGATE_TOKEN"',
    ...fields,
    ...files,
    ...mask,
  ].join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function python(origin: string, body: Named, request: CodedRequest): string {
  const own = Object.entries(body).filter(([name]) => PYTHON_FIELDS.has(name));
  const more = Object.entries(body).filter(([name]) => !PYTHON_FIELDS.has(name));
  const files = fileNames(request).map((name) => `open("${name}", "rb")`);
  const lines = [
    ...(files.length > 0 ? [`image=[${files.join(', ')}],`] : []),
    ...(request.hasMask ? ['mask=open("mask.png", "rb"),'] : []),
    ...own.map(([name, value]) => `${name}=${JSON.stringify(value)},`),
    'response_format="b64_json",',
    ...(more.length > 0 ? [`extra_body=${JSON.stringify(Object.fromEntries(more))},`] : []),
  ];
  return `import base64
import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["TOLLGATE_TOKEN"])
answer = client.images.${files.length > 0 ? 'edit' : 'generate'}(
${lines.map((line) => `    ${line}`).join('\n')}
)
for number, image in enumerate(answer.data, 1):
    with open(f"image-{number}.png", "wb") as file:
        file.write(base64.b64decode(image.b64_json))`;
}

function javascript(origin: string, body: Named, request: CodedRequest): string {
  const files = fileNames(request).map((name) => `createReadStream('${name}')`);
  const fields = Object.entries({ ...body, response_format: 'b64_json' }).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)},`,
  );
  const pictures = [
    ...(files.length > 0 ? [`image: [${files.join(', ')}],`] : []),
    ...(request.hasMask ? [`mask: createReadStream('mask.png'),`] : []),
  ];
  return `import { ${files.length > 0 ? 'createReadStream, writeFileSync' : 'writeFileSync'} } from 'node:fs';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.TOLLGATE_TOKEN });
const answer = await client.images.${files.length > 0 ? 'edit' : 'generate'}({
${[...pictures, ...fields].map((line) => `  ${line}`).join('\n')}
});
answer.data.forEach((image, index) => {
  writeFileSync(\`image-\${index + 1}.png\`, Buffer.from(image.b64_json, 'base64'));
});`;
}
