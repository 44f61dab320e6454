import { fieldsOf, textOf, type Fields, type Refusal } from './stand-in.ts';

/**
 * Moderation as OpenAI's reference has it (https://developers.openai.com/api/reference/resources/moderations): one judgement
 * for each text of a list, one for all parts together; pictures only for the omni models, and not for every category. It
 * is free of charge. The codes of its refusals are from general knowledge, and unverified.
 */
const MODELS = new Set([
  'omni-moderation-latest',
  'omni-moderation-2024-09-26',
  'text-moderation-latest',
  'text-moderation-stable',
]);

const OF_PICTURES = new Set([
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'violence',
  'violence/graphic',
]);
const CATEGORIES = [
  ...OF_PICTURES,
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'sexual/minors',
];

export function moderationRefusal(body: Fields): Refusal | undefined {
  const unknown = Object.keys(body).find((field) => field !== 'input' && field !== 'model');
  if (unknown !== undefined) return bad(unknown, 'unknown_parameter', `Unknown parameter: '${unknown}'.`);
  const { input, model = 'omni-moderation-latest' } = body;
  if (input === undefined)
    return bad('input', 'missing_required_parameter', "Missing required parameter: 'input'.");
  if (typeof model !== 'string' || !MODELS.has(model))
    return bad('model', 'invalid_value', `Invalid value for 'model' = ${textOf(model)}.`);
  if (input === '' || (Array.isArray(input) && input.length === 0))
    return bad('input', 'invalid_value', 'Input must not be empty.');
  const parts: readonly unknown[] = Array.isArray(input) ? input : [];
  const kinds = parts.filter((part) => typeof part !== 'string').map((part) => fieldsOf(part)['type']);
  if (kinds.some((kind) => kind !== 'text' && kind !== 'image_url'))
    return bad('input', 'invalid_value', 'Invalid type of input.');
  return kinds.includes('image_url') && model.startsWith('text-')
    ? bad('input', 'invalid_value', 'Image inputs are not supported by this model.')
    : undefined;
}

export function moderation({ input, model = 'omni-moderation-latest' }: Fields): object {
  const inputs = Array.isArray(input) ? (input as readonly unknown[]) : [input];
  const isTexts = inputs.every((one) => typeof one === 'string');
  const judged = isTexts ? inputs.map((one) => [one]) : [inputs];
  return {
    id: 'modr-0d9740456c391e43c445bf0f010940c7',
    model: textOf(model),
    results: judged.map(judgement),
  };
}

function judgement(inputs: readonly unknown[]): object {
  const isViolent = inputs.some((one) => JSON.stringify(one).includes('attack'));
  const hasPicture = inputs.some((one) => fieldsOf(one)['type'] === 'image_url');
  const of = <Value>(value: (category: string) => Value) =>
    Object.fromEntries(CATEGORIES.map((category) => [category, value(category)]));
  return {
    flagged: isViolent,
    categories: of((category) => isViolent && category === 'violence'),
    category_scores: of((category) => (isViolent && category === 'violence' ? 0.98 : 0.0001)),
    category_applied_input_types: of((category) =>
      hasPicture && OF_PICTURES.has(category) ? ['text', 'image'] : ['text'],
    ),
  };
}

function bad(param: string, code: string, message: string): Refusal {
  return { status: 400, code, param, message };
}
