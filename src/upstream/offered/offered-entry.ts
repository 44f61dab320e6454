import type { OfferedKind, OfferedModel } from '../../catalog/import/abilities.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * One entry of a list of models. OpenAI names nothing but the id; the fields of others are read where they are there:
 * OpenRouter (`context_length`, `top_provider`, `architecture`, `supported_parameters`), Groq (`context_window`,
 * `max_completion_tokens`), Mistral (`max_context_length`, `capabilities`), Together (`type`), Fireworks
 * (`supports_chat`, `supports_tools`), vLLM (`max_model_len`), Anthropic (`display_name`, `max_input_tokens`),
 * Google (`name`, `inputTokenLimit`, `supportedGenerationMethods`) and Cohere (`name`, `endpoints`).
 */
export function offeredModel(entry: unknown): OfferedModel | undefined {
  const fields = fieldsOf(entry);
  const named = textOf(fields['id']) ?? textOf(fields['name']);
  if (named === undefined) return undefined;
  return {
    id: named.replace(/^models\//, ''),
    name: textOf(fields['display_name']) ?? textOf(fields['displayName']) ?? ownName(fields),
    contextTokens: countOf(fields, CONTEXT_FIELDS),
    maxOutput:
      countOf(fields, OUTPUT_FIELDS) ?? countOf(fieldsOf(fields['top_provider']), ['max_completion_tokens']),
    ...abilities(fields),
    makes: madeKind(fields),
  };
}

const CONTEXT_FIELDS = [
  'context_length',
  'context_window',
  'max_context_length',
  'max_model_len',
  'max_input_tokens',
  'inputTokenLimit',
] as const;
const OUTPUT_FIELDS = [
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'outputTokenLimit',
] as const;

/** Of an entry that has an id beside it. */
function ownName(fields: Fields): string | undefined {
  return fields['id'] === undefined ? undefined : textOf(fields['name']);
}

function abilities(fields: Fields): Pick<OfferedModel, 'vision' | 'tools' | 'reasoning'> {
  const capabilities = fieldsOf(fields['capabilities']);
  const inputs = listOf(fieldsOf(fields['architecture'])['input_modalities']);
  const parameters = listOf(fields['supported_parameters']);
  return {
    vision:
      inputs?.includes('image') ??
      flagOf(capabilities['vision']) ??
      flagOf(fieldsOf(capabilities['image_input'])['supported']) ??
      flagOf(fields['supports_image_input']),
    tools:
      parameters?.includes('tools') ??
      flagOf(capabilities['function_calling']) ??
      flagOf(fields['supports_tools']),
    reasoning:
      parameters?.includes('reasoning') ?? flagOf(capabilities['reasoning']) ?? flagOf(fields['thinking']),
  };
}

function madeKind(fields: Fields): OfferedKind | undefined {
  const outputs = listOf(fieldsOf(fields['architecture'])['output_modalities']);
  if (outputs) return outputs.includes('text') ? 'chat' : 'other';
  const methods = listOf(fields['supportedGenerationMethods']) ?? listOf(fields['endpoints']);
  if (methods) {
    if (methods.includes('generateContent') || methods.includes('chat')) return 'chat';
    return methods.includes('embedContent') || methods.includes('embed') ? 'embedding' : 'other';
  }
  const chats =
    flagOf(fieldsOf(fields['capabilities'])['completion_chat']) ?? flagOf(fields['supports_chat']);
  // Mistral's embedding models have no chat, and no word of their own.
  if (chats !== undefined)
    return chats ? 'chat' : /embed/i.test(String(fields['id'])) ? 'embedding' : 'other';
  const type = textOf(fields['type']);
  if (type === undefined || type === 'model') return undefined;
  if (type === 'embedding') return 'embedding';
  return type === 'chat' || type === 'language' || type === 'code' ? 'chat' : 'other';
}

function fieldsOf(value: unknown): Fields {
  return (typeof value === 'object' && value !== null ? value : {}) as Fields;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function flagOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? (value as unknown[]) : undefined;
}

function countOf(fields: Fields, names: readonly string[]): number | undefined {
  const found = names
    .map((name) => fields[name])
    .find((value) => Number.isInteger(value) && Number(value) > 0);
  return found === undefined ? undefined : Number(found);
}
