import { dayOf } from '../std/calendar.ts';

/** What a provider counted for a model on a UTC day. Tokens or dollars, as the export has them. */
export interface ExportLine {
  readonly day: number;
  /** `undefined`: the export does not say. */
  readonly model: string | undefined;
  readonly requests: number;
  /** Input tokens, including cached and written ones, plus output tokens. */
  readonly tokens: number;
  readonly cacheWrites: number;
  /** In nano-USD. */
  readonly cost: number;
}

export interface ProviderExport {
  readonly kind: 'usage' | 'cost';
  readonly lines: readonly ExportLine[];
  readonly isPartial: boolean;
}

/** An export that cannot be read: one sentence that says what is wrong. */
export class ExportError extends Error {}

const MAX_LINES = 100_000;

/**
 * Reads one page, or an array of pages, of:
 * - OpenAI's usage of completions and its costs (`GET /v1/organization/usage/completions`, `GET /v1/organization/costs`:
 *   https://platform.openai.com/docs/api-reference/usage);
 * - Anthropic's usage and cost reports (`GET /v1/organizations/usage_report/messages`, `GET /v1/organizations/cost_report`:
 *   https://platform.claude.com/docs/en/api/admin/cost_report), whose amounts are cents as decimal text.
 */
export function readProviderExport(text: string): ProviderExport {
  return readExportPages(parse(text));
}

/** The same, where the JSON has been read. */
export function readExportPages(value: unknown): ProviderExport {
  const pages = pagesOf(value);
  const lines: ExportLine[] = [];
  let kind: ProviderExport['kind'] | undefined;
  for (const bucket of pages.flatMap(({ data }) => data)) {
    const day = bucketDay(bucket);
    for (const result of listOf(bucket['results'], 'a bucket has no results')) {
      if (lines.length >= MAX_LINES) throw new ExportError(`The export has more than ${MAX_LINES} lines.`);
      const line = lineOf(result, day);
      kind ??= line.kind;
      if (line.kind !== kind) throw new ExportError('The export mixes usage and costs; give one of them.');
      lines.push(line);
    }
  }
  if (kind === undefined) throw new ExportError('The export has no lines.');
  return { kind, lines, isPartial: pages.at(-1)?.hasMore === true };
}

type Fields = Readonly<Record<string, unknown>>;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ExportError('The file is not JSON.');
  }
}

function pagesOf(value: unknown): { data: Fields[]; hasMore: boolean }[] {
  const pages = Array.isArray(value) ? value : [value];
  return pages.map((page: unknown) => {
    const fields = fieldsOf(page, 'The file is not a page of a usage or cost export.');
    const data = listOf(fields['data'], 'The file has no data; it must be a page of a usage or cost export.');
    return { data, hasMore: fields['has_more'] === true };
  });
}

function bucketDay(bucket: Fields): number {
  const { start_time: seconds, starting_at: text } = bucket;
  const ms =
    typeof seconds === 'number' ? seconds * 1000 : typeof text === 'string' ? Date.parse(text) : Number.NaN;
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15)
    throw new ExportError('A bucket of the export has no start_time (OpenAI) or starting_at (Anthropic).');
  return dayOf(ms);
}

function lineOf(result: Fields, day: number): ExportLine & { kind: ProviderExport['kind'] } {
  const none = { day, model: textOf(result['model']), requests: 0, tokens: 0, cacheWrites: 0, cost: 0 };
  const { amount } = result;
  if (typeof amount === 'object' && amount !== null) {
    const { value, currency } = amount as Fields;
    // `line_item` is "model, kind" where costs are grouped by it.
    const model = none.model ?? textOf(result['line_item'])?.split(',')[0];
    return { ...none, kind: 'cost', model, cost: nano(Number(value), currency) };
  }
  if (typeof amount === 'string')
    return { ...none, kind: 'cost', cost: nano(Number(amount) / 100, result['currency']) };
  if ('uncached_input_tokens' in result) return { ...none, kind: 'usage', ...anthropicTokens(result) };
  if ('input_tokens' in result) {
    const tokens = count(result, 'input_tokens') + count(result, 'output_tokens');
    return { ...none, kind: 'usage', tokens, requests: count(result, 'num_model_requests') };
  }
  throw new ExportError(
    'A line of the export has neither tokens nor an amount; only usage of chats and costs can be read.',
  );
}

function anthropicTokens(result: Fields): Pick<ExportLine, 'tokens' | 'cacheWrites'> {
  const created = fieldsOf(result['cache_creation'] ?? {}, 'cache_creation is no object.');
  const cacheWrites =
    count(created, 'ephemeral_5m_input_tokens') + count(created, 'ephemeral_1h_input_tokens');
  const read = count(result, 'cache_read_input_tokens');
  return {
    tokens: count(result, 'uncached_input_tokens') + read + cacheWrites + count(result, 'output_tokens'),
    cacheWrites,
  };
}

function nano(dollars: number, currency: unknown): number {
  if (!Number.isFinite(dollars)) throw new ExportError('An amount of the export is no number.');
  if (typeof currency === 'string' && currency.toLowerCase() !== 'usd')
    throw new ExportError(`The export is in ${currency.slice(0, 10)}; only USD can be compared.`);
  return Math.round(dollars * 1_000_000_000);
}

function count(fields: Fields, key: string): number {
  const value = fields[key] ?? 0;
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw new ExportError(`${key} of the export is not a whole number.`);
  return value as number;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : undefined;
}

function listOf(value: unknown, problem: string): Fields[] {
  if (!Array.isArray(value)) throw new ExportError(problem);
  return value.map((item) => fieldsOf(item, problem));
}

function fieldsOf(value: unknown, problem: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ExportError(problem);
  return value as Fields;
}
