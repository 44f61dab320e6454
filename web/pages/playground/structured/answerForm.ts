import { innerSchemas, isRecord, readSchema, type SchemaProblem } from './schemaCheck.ts';

export interface ToolDraft {
  readonly name: string;
  readonly description: string;
  /** A JSON schema. */
  readonly parameters: string;
}

export const ANSWERS_AS = ['text', 'json', 'schema'] as const;

/** What an answer should be, as typed. */
export interface AnswerForm {
  readonly answerAs: (typeof ANSWERS_AS)[number];
  readonly schema: string;
  readonly tools: readonly ToolDraft[];
}

export const EMPTY_FORM: AnswerForm = { answerAs: 'text', schema: '', tools: [] };
export const MAX_TOOLS = 20;
export const MAX_DESCRIPTION = 1_000;
const TOOL_NAME = /^[\w-]{1,64}$/;

/** The format an answer was asked for, against which it is checked. */
export type AnswerFormat = { readonly kind: 'json' } | { readonly kind: 'schema'; readonly schema: unknown };

export interface AnswerParameters {
  readonly response_format?:
    | { readonly type: 'json_object' }
    | {
        readonly type: 'json_schema';
        readonly json_schema: { readonly name: string; readonly strict?: true; readonly schema: unknown };
      };
  readonly tools?: readonly {
    readonly type: 'function';
    readonly function: {
      readonly name: string;
      readonly description?: string;
      readonly parameters: unknown;
    };
  }[];
}

/** What is wrong with the answer's schema; a form with such a schema is not sent. */
export function formProblem({ answerAs, schema }: AnswerForm): SchemaProblem | undefined {
  const read = answerAs === 'schema' ? readSchema(schema) : undefined;
  return read && !read.ok ? read.problem : undefined;
}

/** Includes tools only if the model calls them. */
export function answerParameters(form: AnswerForm, takesTools: boolean): AnswerParameters {
  const tools = takesTools ? form.tools.map(toolDefinition) : [];
  return { ...responseFormat(form), ...(tools.length > 0 && { tools }) };
}

export function formatOf({ response_format: asked }: AnswerParameters): AnswerFormat | undefined {
  if (!asked) return undefined;
  return asked.type === 'json_object'
    ? { kind: 'json' }
    : { kind: 'schema', schema: asked.json_schema.schema };
}

function responseFormat({ answerAs, schema: text }: AnswerForm): AnswerParameters {
  if (answerAs === 'text') return {};
  if (answerAs === 'json') return { response_format: { type: 'json_object' } };
  const read = readSchema(text);
  if (!read.ok) return {};
  const { schema } = read;
  const title = typeof schema['title'] === 'string' ? schema['title'].replaceAll(/[^\w-]+/g, '_') : '';
  const json_schema = {
    name: title.slice(0, 64) || 'answer',
    ...(canBeStrict(schema) && { strict: true as const }),
    schema,
  };
  return { response_format: { type: 'json_schema', json_schema } };
}

function toolDefinition({ name, description, parameters }: ToolDraft) {
  const read = readSchema(parameters);
  return {
    type: 'function' as const,
    function: {
      name,
      ...(description.trim() && { description: description.trim() }),
      parameters: read.ok ? read.schema : {},
    },
  };
}

const STRICT_KEYWORDS = new Set(
  'type properties required additionalProperties items enum const anyOf $ref $defs title description'.split(
    ' ',
  ),
);

/** OpenAI enforces a schema only in strict mode, in which every object must be closed and every field required. */
function canBeStrict(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isRecord(schema) || !Object.keys(schema).every((key) => STRICT_KEYWORDS.has(key))) return false;
  const fields = isRecord(schema['properties']) ? Object.keys(schema['properties']) : [];
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const isObject = schema['type'] === 'object' || fields.length > 0;
  if (
    isObject &&
    (schema['additionalProperties'] !== false || !fields.every((name) => required.includes(name)))
  )
    return false;
  return innerSchemas(schema).every(({ inner }) => canBeStrict(inner));
}

type ToolProblems = {
  readonly name?: 'format' | 'taken' | undefined;
  readonly parameters?: SchemaProblem | undefined;
};

/** `others` are the names that are already taken. */
export function toolProblems(tool: ToolDraft, others: readonly string[]): ToolProblems {
  return {
    name: !TOOL_NAME.test(tool.name) ? 'format' : others.includes(tool.name) ? 'taken' : undefined,
    parameters: parametersProblem(tool.parameters),
  };
}

function parametersProblem(text: string): SchemaProblem | undefined {
  const read = readSchema(text);
  if (!read.ok) return read.problem;
  // The arguments of a call are always an object.
  return read.schema['type'] === 'object' ? undefined : { kind: 'notObject', path: 'type', detail: '' };
}

/** A form from a file, a link or the browser's storage; `undefined` if it is not one. */
export function parseForm(value: unknown): AnswerForm | undefined {
  if (!isRecord(value) || typeof value['schema'] !== 'string' || !Array.isArray(value['tools']))
    return undefined;
  const answerAs = ANSWERS_AS.find((one) => one === value['answerAs']);
  const tools = value['tools'].map(parseTool).filter((tool) => tool !== undefined);
  const names = new Set(tools.map(({ name }) => name));
  if (!answerAs || names.size < value['tools'].length || tools.length > MAX_TOOLS) return undefined;
  return { answerAs, schema: value['schema'], tools };
}

function parseTool(value: unknown): ToolDraft | undefined {
  if (!isRecord(value)) return undefined;
  const { name, description, parameters } = value;
  if (typeof name !== 'string' || typeof description !== 'string' || typeof parameters !== 'string')
    return undefined;
  const tool = { name, description: description.slice(0, MAX_DESCRIPTION), parameters };
  const { name: wrongName, parameters: wrongParameters } = toolProblems(tool, []);
  return wrongName || wrongParameters ? undefined : tool;
}
