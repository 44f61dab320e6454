import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ChatTool } from '../openai/chat.ts';
import { withoutAbsent } from '../without-absent.ts';
import type { GeminiTool, GenerateContentRequest } from './request.ts';

/** The declared functions in the canonical form. Tools that Google would run itself are left out and named. */
export function geminiToolFields(request: GenerateContentRequest): Partial<ChatRequest> {
  const { mode, allowedFunctionNames: allowed } = request.toolConfig?.functionCallingConfig ?? {};
  const tools = (request.tools ?? [])
    .flatMap((tool) => tool.functionDeclarations ?? [])
    .filter(({ name }) => !allowed?.length || allowed.includes(name))
    .map(toolToChat);
  if (tools.length === 0) {
    if (mode !== 'ANY') return {};
    throw new Fault('invalid_field', 'toolConfig demands a call, but no function can be called.', {
      param: 'toolConfig.functionCallingConfig',
    });
  }
  return { tools, ...withoutAbsent({ tool_choice: toolChoice(mode, tools) }) };
}

/** E.g. `tools.googleSearch`. */
export function googleTools({ tools }: Pick<GenerateContentRequest, 'tools'>): string[] {
  return (tools ?? []).flatMap((tool: GeminiTool) =>
    Object.keys(tool)
      .filter((kind) => kind !== 'functionDeclarations')
      .map((kind) => `tools.${kind}`),
  );
}

type Declaration = NonNullable<GeminiTool['functionDeclarations']>[number];

function toolToChat({ name, description, parameters, parametersJsonSchema }: Declaration): ChatTool {
  // The only other place for a schema is one that is a JSON schema already.
  const schema = parameters
    ? jsonSchemaOf(parameters)
    : (parametersJsonSchema as Record<string, unknown> | null | undefined);
  return { type: 'function', function: { name, ...withoutAbsent({ description, parameters: schema }) } };
}

function toolChoice(mode: string | null | undefined, tools: readonly ChatTool[]): unknown {
  const [only, another] = tools;
  if (mode === 'ANY' && only && !another)
    return { type: 'function', function: { name: only.function?.name } };
  return CHOICES[mode ?? ''];
}

const CHOICES: Readonly<Record<string, string>> = {
  ANY: 'required',
  NONE: 'none',
  AUTO: 'auto',
  VALIDATED: 'auto',
};

/**
 * Google's `Schema` (https://ai.google.dev/api/caching#Schema) as a JSON schema: types in lower case, `nullable` as a type,
 * and whole numbers that its clients may write as texts.
 */
export function jsonSchemaOf(schema: object): Record<string, unknown> {
  const { nullable, ...fields } = schema as Record<string, unknown>;
  const converted = Object.fromEntries(
    Object.entries(fields)
      .filter(([key]) => !NOT_IN_JSON_SCHEMA.has(key))
      .map(([key, value]) => [key, convertedField(key, value)]),
  );
  const { type } = converted;
  return nullable === true && typeof type === 'string' ? { ...converted, type: [type, 'null'] } : converted;
}

const NOT_IN_JSON_SCHEMA = new Set(['propertyOrdering', 'property_ordering', 'example']);
const WHOLE_NUMBERS = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

function convertedField(key: string, value: unknown): unknown {
  if (key === 'type' && typeof value === 'string') return value.toLowerCase();
  if (key === 'items' && isSchema(value)) return jsonSchemaOf(value);
  if (key === 'anyOf' && Array.isArray(value))
    return value.map((one: unknown) => (isSchema(one) ? jsonSchemaOf(one) : one));
  if (key === 'properties' && isSchema(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]: [string, unknown]) => [
        name,
        isSchema(one) ? jsonSchemaOf(one) : one,
      ]),
    );
  return WHOLE_NUMBERS.has(key) && typeof value === 'string' ? Number(value) : value;
}

function isSchema(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
