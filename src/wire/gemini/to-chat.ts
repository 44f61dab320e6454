import { Fault } from '../../std/fault.ts';
import type { ChatRequest } from '../openai/chat.ts';
import { isAbsent, withoutAbsent } from '../without-absent.ts';
import { contentsToChatMessages } from './contents.ts';
import type { GenerateContentRequest, GenerationConfig } from './request.ts';
import { geminiToolFields, googleTools, jsonSchemaOf } from './tools.ts';

interface GeminiOptions {
  readonly model: string;
  readonly stream: boolean;
  /** The model thinks, so it can be told how much. */
  readonly reasons: boolean;
}

interface TranslatedGemini {
  readonly request: ChatRequest;
  /** What no backend gets, for `x-tollgate-dropped`. */
  readonly leftOut: readonly string[];
}

/** A request in the canonical form. What that cannot express is left out and named, or refused if it matters. */
export function geminiToChat(asked: GenerateContentRequest, options: GeminiOptions): TranslatedGemini {
  const config = asked.generationConfig ?? {};
  refuseUnsupported(asked, config);
  const messages = contentsToChatMessages(asked);
  if (messages.every(({ role }) => role === 'system'))
    throw new Fault('invalid_field', 'contents hold nothing that a model could read.', { param: 'contents' });
  const effort = options.reasons ? effortOf(config.thinkingConfig) : undefined;
  return {
    request: {
      model: options.model,
      messages,
      ...withoutAbsent({
        max_tokens: config.maxOutputTokens,
        temperature: config.temperature,
        top_p: config.topP,
        stop: config.stopSequences?.length ? config.stopSequences : undefined,
        seed: config.seed,
        presence_penalty: config.presencePenalty,
        frequency_penalty: config.frequencyPenalty,
        reasoning_effort: effort,
        response_format: formatOf(config),
      }),
      ...geminiToolFields(asked),
      ...(options.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    },
    leftOut: [...leftOutFields(asked, config, effort !== undefined), ...googleTools(asked)],
  };
}

function refuseUnsupported(asked: GenerateContentRequest, config: GenerationConfig): void {
  if (asked.cachedContent)
    throw unsupported('cachedContent', 'Tollgate keeps no content; send all of it in contents.');
  if ((config.candidateCount ?? 1) !== 1)
    throw unsupported('generationConfig.candidateCount', 'send one request for each answer.');
  const modality = config.responseModalities?.find((one) => !['TEXT', 'MODALITY_UNSPECIFIED'].includes(one));
  if (modality !== undefined)
    throw unsupported('generationConfig.responseModalities', 'only text comes from this API.');
}

function unsupported(param: string, reason: string): Fault {
  return new Fault('invalid_field', `${param} is not supported here: ${reason}`, { param });
}

/** JSON by a schema, JSON of any shape, or text. */
function formatOf(config: GenerationConfig): Record<string, unknown> | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema, _responseJsonSchema } = config;
  if (isAbsent(type) || type === '' || type === 'text/plain') return undefined;
  if (type !== 'application/json')
    throw unsupported('generationConfig.responseMimeType', 'text/plain and application/json are.');
  const schema = responseSchema
    ? jsonSchemaOf(responseSchema)
    : (responseJsonSchema ?? _responseJsonSchema ?? undefined);
  if (schema === undefined) return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: 'answer', schema } };
}

/** A budget of -1 leaves the choice to the model; so does none. */
function effortOf(thinking: GenerationConfig['thinkingConfig']): string | undefined {
  const { thinkingLevel: level, thinkingBudget: budget } = thinking ?? {};
  if (level && level !== 'THINKING_LEVEL_UNSPECIFIED') return level.toLowerCase();
  if (isAbsent(budget) || budget <= 0) return undefined;
  return EFFORTS.find(([below]) => budget < below)?.[1];
}

/** Thinking budgets in tokens and the corresponding efforts, as for Anthropic's clients. */
const EFFORTS: readonly (readonly [number, string])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

const TRANSLATED = new Set([
  'maxOutputTokens',
  'temperature',
  'topP',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'candidateCount',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  '_responseJsonSchema',
  'responseModalities',
  'thinkingConfig',
]);

function leftOutFields(
  { safetySettings, labels }: GenerateContentRequest,
  config: GenerationConfig,
  hasEffort: boolean,
): string[] {
  const { thinkingBudget: budget, thinkingLevel: level } = config.thinkingConfig ?? {};
  const isThinkingLeftOut = !hasEffort && (budget ?? level ?? -1) !== -1;
  return [
    ...(safetySettings?.length ? ['safetySettings'] : []),
    ...(labels === undefined ? [] : ['labels']),
    ...Object.keys(config)
      .filter((field) => !TRANSLATED.has(field) && !isAbsent(config[field]))
      .map((field) => `generationConfig.${field}`),
    ...(isThinkingLeftOut ? ['generationConfig.thinkingConfig'] : []),
  ];
}
