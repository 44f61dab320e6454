import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ChatTool } from '../openai/chat.ts';
import { withoutAbsent } from '../field-table.ts';
import { isInnerTool, isKnownTool, type InnerTool, type ResponsesRequest } from './request.ts';

/**
 * The tools as canonical functions. A custom tool takes plain text, which becomes the only argument of a function; a
 * namespace becomes a prefix. Tools that OpenAI would run itself are left out: agents always offer a few, and a model
 * that does not see them does not call them. Requiring one of them is refused.
 */
export function toolFields(request: ResponsesRequest): Partial<ChatRequest> {
  const choice = request.tool_choice ?? undefined;
  const allowed = allowedNames(choice);
  const tools = functionsOf(request)
    .filter((tool) => allowed === undefined || allowed.has(tool.chatName))
    .map((tool) => tool.definition);
  if (tools.length === 0) {
    if (isRequired(choice)) throw unknownChoice();
    return {};
  }
  const names = new Set(tools.map((tool) => tool.function?.name));
  return {
    tools,
    ...withoutAbsent({
      tool_choice: choiceToChat(choice, names),
      parallel_tool_calls: request.parallel_tool_calls === false ? false : undefined,
    }),
  };
}

/**
 * The tool of the request that a canonical function stands for, so that its calls can be reported in the client's
 * format.
 */
export interface ToolOrigin {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | undefined;
}

export type ToolOrigins = ReadonlyMap<string, ToolOrigin>;

export function toolOrigins(request: Pick<ResponsesRequest, 'tools'>): ToolOrigins {
  return new Map(functionsOf(request).map(({ chatName, origin }) => [chatName, origin]));
}

export function chatName(name: string, namespace: string | null | undefined): string {
  return namespace ? `${namespace}__${name}` : name;
}

/** The only argument of a custom tool's function; `customInput` is the inverse. */
export function customArguments(input: string): string {
  return JSON.stringify({ input });
}

export function customInput(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'input' in value && typeof value.input === 'string') {
      return value.input;
    }
  } catch {
    // A model that ignored the schema wrote the text itself.
  }
  return text;
}

interface CanonicalFunction {
  readonly chatName: string;
  readonly origin: ToolOrigin;
  readonly definition: ChatTool;
}

function functionsOf(request: Pick<ResponsesRequest, 'tools'>): CanonicalFunction[] {
  return (request.tools ?? []).filter(isKnownTool).flatMap((tool) => {
    if (tool.type !== 'namespace') return [canonical(tool, undefined)];
    return tool.tools.filter(isInnerTool).map((inner) => canonical(inner, tool.name));
  });
}

function canonical(tool: InnerTool, namespace: string | undefined): CanonicalFunction {
  const name = chatName(tool.name, namespace);
  const origin: ToolOrigin = { kind: tool.type, name: tool.name, namespace };
  const fields = tool.type === 'function' ? functionFields(tool) : customFields(tool);
  return { chatName: name, origin, definition: { type: 'function', function: { name, ...fields } } };
}

function functionFields(tool: InnerTool & { type: 'function' }) {
  return withoutAbsent({ description: tool.description, parameters: tool.parameters, strict: tool.strict });
}

function customFields(tool: InnerTool & { type: 'custom' }) {
  const { definition, syntax } = tool.format ?? {};
  const grammar = definition
    ? `The input must follow this ${syntax ?? 'lark'} grammar:\n${definition}`
    : undefined;
  return {
    description: [tool.description, grammar].filter(Boolean).join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The text that the tool takes, as it is.' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

type Choice = NonNullable<ResponsesRequest['tool_choice']> | undefined;

function allowedNames(choice: Choice): ReadonlySet<string> | undefined {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return undefined;
  return new Set((choice.tools ?? []).map((tool) => chatName(tool.name ?? '', tool.namespace)));
}

function isRequired(choice: Choice): boolean {
  if (typeof choice !== 'object') return choice === 'required';
  return choice.type !== 'allowed_tools' || choice.mode === 'required';
}

function choiceToChat(choice: Choice, names: ReadonlySet<string | undefined>): unknown {
  if (typeof choice !== 'object') return choice;
  switch (choice.type) {
    case 'allowed_tools':
      return choice.mode ?? 'auto';
    case 'function':
    case 'custom': {
      const name = chatName(choice.name ?? '', choice.namespace);
      if (names.has(name)) return { type: 'function', function: { name } };
      throw unknownChoice();
    }
    default:
      throw unknownChoice();
  }
}

function unknownChoice(): Fault {
  return new Fault(
    'invalid_field',
    'tool_choice demands a tool that is not among the functions of this request.',
    {
      param: 'tool_choice',
    },
  );
}
