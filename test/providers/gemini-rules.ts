import {
  fieldsOf,
  listOf,
  textOf,
  unknownField,
  type Fields,
  type Refusal,
  type StandInCall,
} from './stand-in.ts';

/**
 * What Gemini's API takes and refuses, from its public reference (https://ai.google.dev/api/generate-content) and, for the
 * words, from answers that people quoted in public, named beside each rule. The fields are those that
 * `_GenerateContentConfig_to_mldev` in google/genai/models.py writes (https://github.com/googleapis/python-genai,
 * 6680718). The limits and the rules without a link are from general knowledge, and unverified.
 */
interface GeminiModel {
  readonly maxOutput: number;
  /** The largest thinking budget; absent for models that do not think. */
  readonly maxBudget?: number;
}

const MODELS: Readonly<Record<string, GeminiModel>> = {
  'gemini-2.0-flash': { maxOutput: 8_192 },
  'gemini-2.5-flash': { maxOutput: 65_536, maxBudget: 24_576 },
};

export function geminiModel(name: string): GeminiModel | undefined {
  return MODELS[name];
}

const FIELDS = [
  'contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent serviceTier',
];
const CONFIG_FIELDS = [
  'stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount maxOutputTokens',
  'temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs speechConfig thinkingConfig',
  'imageConfig mediaResolution',
];
const PART_FIELDS = [
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult thought thoughtSignature',
  'videoMetadata',
];

/** Why a request is refused; undefined when it is not. */
export function geminiRefusal({ body, model: name }: StandInCall): Refusal | undefined {
  const model = MODELS[name];
  const config = fieldsOf(body['generationConfig']);
  return (
    unknownIn(body, FIELDS) ??
    unknownIn(config, CONFIG_FIELDS, 'generation_config') ??
    unknownIn(
      config['thinkingConfig'],
      ['includeThoughts thinkingBudget thinkingLevel'],
      'generation_config.thinking_config',
    ) ??
    (model ? undefined : { status: 404, message: `models/${name} is not found for API version v1beta` }) ??
    contentsRefusal(listOf(body['contents'])) ??
    toolsRefusal(body, config) ??
    configRefusal(config, model)
  );
}

/** Words from https://github.com/google-gemini/gemini-cli/issues/13972. */
function unknownIn(value: unknown, known: readonly string[], at = ''): Refusal | undefined {
  const field = unknownField(value, known);
  if (field === undefined) return undefined;
  const place = at === '' ? '' : ` at '${at}'`;
  return bad(`Invalid JSON payload received. Unknown name "${field}"${place}: Cannot find field.`);
}

/** Words from https://github.com/boldsoftware/sketch/issues/68 and https://github.com/langflow-ai/langflow/issues/9437. */
function contentsRefusal(contents: readonly Fields[]): Refusal | undefined {
  if (contents.length === 0) return bad('* GenerateContentRequest.contents: contents is not specified');
  for (const [index, { role, parts }] of contents.entries()) {
    const at = `contents[${index}]`;
    if (role !== 'user' && role !== 'model') return bad('Please use a valid role: user, model.');
    for (const [place, part] of listOf(parts).entries()) {
      const unknown = unknownIn(part, PART_FIELDS, `${at}.parts[${place}]`);
      if (unknown) return unknown;
      if (Object.keys(part).length === 0 || part['text'] === '')
        return bad(
          `* GenerateContentRequest.${at}.parts[${place}].data: required oneof field 'data' must have one initialized field`,
        );
      const response = part['functionResponse'];
      if (response !== undefined && textOf(fieldsOf(response)['name']) === '')
        return bad(
          `* GenerateContentRequest.${at}.parts[${place}].function_response.name: Name cannot be empty.`,
        );
    }
    if (
      callsIn(parts) > 0 &&
      index + 1 < contents.length &&
      callsIn(parts) !== resultsIn(contents[index + 1]?.['parts'])
    )
      return bad(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
  }
  return undefined;
}

function callsIn(parts: unknown): number {
  return listOf(parts).filter(({ functionCall }) => functionCall !== undefined).length;
}

function resultsIn(parts: unknown): number {
  return listOf(parts).filter(({ functionResponse }) => functionResponse !== undefined).length;
}

/**
 * Words from https://github.com/kaitranntt/ccs/issues/219 (names) and
 * https://github.com/googleapis/python-genai/issues/867 (JSON beside functions).
 */
function toolsRefusal({ tools }: Fields, config: Fields): Refusal | undefined {
  const declarations = listOf(tools).flatMap((tool) => listOf(tool['functionDeclarations']));
  for (const [index, one] of declarations.entries()) {
    const at = `tools[0].function_declarations[${index}]`;
    const unknown = unknownIn(
      one,
      ['name description behavior parameters parametersJsonSchema response responseJsonSchema'],
      at,
    );
    if (unknown) return unknown;
    if (!/^[A-Za-z_][\w.:-]{0,63}$/.test(textOf(one['name'])))
      return bad(
        `The GenerateContentRequest proto is invalid:\n  * ${at}.name: [FIELD_INVALID] Invalid function name.`,
      );
    const foreign = schemaRefusal(one['parameters'], `${at}.parameters`);
    if (foreign) return foreign;
  }
  return declarations.length > 0 && config['responseMimeType'] === 'application/json'
    ? bad("Function calling with a response mime type: 'application/json' is unsupported")
    : undefined;
}

/** `Schema` is a subset of OpenAPI's; JSON schemas have fields of their own. */
function schemaRefusal(schema: unknown, at: string): Refusal | undefined {
  const unknown = ['additionalProperties', '$schema', '$ref', 'const', 'exclusiveMinimum'].find(
    (field) => field in fieldsOf(schema),
  );
  return unknown === undefined
    ? undefined
    : bad(`Invalid JSON payload received. Unknown name "${unknown}" at '${at}': Cannot find field.`);
}

function configRefusal(config: Fields, model: GeminiModel | undefined): Refusal | undefined {
  const {
    maxOutputTokens: cap,
    thinkingConfig,
    responseSchema,
    responseMimeType,
    responseJsonSchema,
  } = config;
  if (
    cap !== undefined &&
    (!Number.isInteger(cap) || Number(cap) < 1 || Number(cap) > (model?.maxOutput ?? 0))
  )
    return bad(`max_output_tokens must be between 1 and ${model?.maxOutput}`);
  if (thinkingConfig !== undefined && model?.maxBudget === undefined)
    return bad('Thinking is not enabled for this model.');
  const budget = fieldsOf(thinkingConfig)['thinkingBudget'];
  if (typeof budget === 'number' && (budget < -1 || budget > (model?.maxBudget ?? 0)))
    return bad(
      `The thinking budget ${budget} is invalid. Please choose a value between 0 and ${model?.maxBudget}.`,
    );
  if ((responseSchema ?? responseJsonSchema) !== undefined && responseMimeType !== 'application/json')
    return bad('response_schema needs response_mime_type application/json');
  return schemaRefusal(responseSchema, 'generation_config.response_schema');
}

function bad(message: string): Refusal {
  return { status: 400, message };
}
