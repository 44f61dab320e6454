import { z } from 'zod';
import { fieldRules, memberOf, type FieldRules, isAbsent } from '../field-table.ts';

/**
 * What `generateContent` accepts (https://ai.google.dev/api/generate-content). Fields that Tollgate does not know are
 * dropped and named; what is known is checked.
 */
const functionCall = z.looseObject({
  id: z.string().nullish(),
  name: z.string().min(1).max(128),
  args: z.looseObject({}).nullish(),
});

const functionResponse = z.looseObject({
  id: z.string().nullish(),
  name: z.string().min(1).max(128),
  response: z.looseObject({}).nullish(),
  parts: z.array(z.unknown()).nullish(),
});

const partSchema = z
  .looseObject({
    text: z.string().nullish(),
    thought: z.boolean().nullish(),
    thoughtSignature: z.string().nullish(),
    inlineData: z.looseObject({ mimeType: z.string().min(1), data: z.string() }).nullish(),
    fileData: z.looseObject({ mimeType: z.string().nullish(), fileUri: z.string().min(1) }).nullish(),
    functionCall: functionCall.nullish(),
    functionResponse: functionResponse.nullish(),
  })
  .meta({ id: 'GeminiPart' });

const contentSchema = z
  .looseObject({
    role: z.enum(['user', 'model', 'function']).nullish(),
    parts: z.array(partSchema).max(10_000),
  })
  .meta({ id: 'GeminiContent' });

const functionDeclaration = z.looseObject({
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish(),
  parametersJsonSchema: z.unknown().optional(),
});

const toolSchema = z
  .looseObject({ functionDeclarations: z.array(functionDeclaration).max(512).nullish() })
  .meta({ id: 'GeminiTool' });

const toolConfigSchema = z.looseObject({
  functionCallingConfig: z
    .looseObject({
      mode: z.enum(['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']).nullish(),
      allowedFunctionNames: z.array(z.string()).nullish(),
    })
    .nullish(),
});

/** The largest integer that may meet a price; the model's own limit is checked where the model is known. */
const MAX_TOKENS = 10_000_000;

const generationConfigSchema = z.looseObject({
  maxOutputTokens: z.int().min(1).max(MAX_TOKENS).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  topP: z.number().min(0).max(1).nullish(),
  stopSequences: z.array(z.string()).max(16).nullish(),
  seed: z.int().nullish(),
  presencePenalty: z.number().min(-2).max(2).nullish(),
  frequencyPenalty: z.number().min(-2).max(2).nullish(),
  candidateCount: z.int().nullish(),
  responseMimeType: z.string().nullish(),
  responseSchema: z.looseObject({}).nullish(),
  responseJsonSchema: z.unknown().optional(),
  responseModalities: z.array(z.string()).nullish(),
  thinkingConfig: z
    .looseObject({
      includeThoughts: z.boolean().nullish(),
      thinkingBudget: z.int().nullish(),
      thinkingLevel: z.string().nullish(),
    })
    .nullish(),
});

export const generateContentSchema = z.looseObject({
  contents: z.array(contentSchema).min(1).max(10_000),
  systemInstruction: z.looseObject({ parts: z.array(partSchema) }).nullish(),
  tools: z.array(toolSchema).max(128).nullish(),
  toolConfig: toolConfigSchema.nullish(),
  generationConfig: generationConfigSchema.nullish(),
  safetySettings: z.array(z.unknown()).nullish(),
  cachedContent: z.string().nullish(),
});

/** `countTokens` takes the contents alone, or a whole request. */
export const countContentsSchema = z
  .looseObject({ contents: generateContentSchema.shape.contents })
  .meta({ id: 'CountGeminiContents' });
export const countRequestSchema = z
  .looseObject({ generateContentRequest: generateContentSchema })
  .meta({ id: 'CountGeminiRequest' });

export const GEMINI_FIELDS: FieldRules = fieldRules({
  harmless: [
    'contents systemInstruction tools toolConfig',
    // Named among what was left out; nothing is kept, so cached content is refused.
    'safetySettings labels cachedContent',
    // Of an older client: the path has it.
    'model',
  ],
  // Within the cap, and charged as output.
  reasoning: {
    generationConfig: (value) =>
      asksToThink(memberOf(value, 'thinkingConfig')) ? ['generationConfig.thinkingConfig'] : [],
  },
  synonyms: { maxOutputTokens: 'generationConfig.maxOutputTokens', n: 'one request for each answer' },
});

/** A budget of 0 asks for none. */
function asksToThink(config: unknown): boolean {
  const budget = memberOf(config, 'thinkingBudget') ?? 0;
  return (
    budget !== 0 ||
    !isAbsent(memberOf(config, 'thinkingLevel')) ||
    memberOf(config, 'includeThoughts') === true
  );
}

export type GenerateContentRequest = z.infer<typeof generateContentSchema>;
export type GeminiContent = z.infer<typeof contentSchema>;
export type GeminiPart = z.infer<typeof partSchema>;
export type GeminiTool = z.infer<typeof toolSchema>;
export type GenerationConfig = z.infer<typeof generationConfigSchema>;

/**
 * The request with the spelling of the reference. Google's servers read fields in `snake_case` as well, and one object in
 * place of a list of one; both are in its own examples. What belongs to the client (arguments, results, JSON schemas)
 * stays as it is.
 */
export function inReferenceSpelling(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inReferenceSpelling);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = camelCase(key);
      const spelled = OF_THE_CLIENT.has(name) ? inner : inReferenceSpelling(inner);
      return [name, LISTS.has(name) && isObject(spelled) ? [spelled] : spelled];
    }),
  );
}

const OF_THE_CLIENT = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  '_responseJsonSchema',
]);

const LISTS = new Set(['contents', 'parts', 'tools']);

function camelCase(key: string): string {
  return key.startsWith('_') ? key : key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
