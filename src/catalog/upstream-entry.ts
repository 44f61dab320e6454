import { NEVER_PASSED } from '../std/held-fields.ts';
import { addressOptions, upstreamOrigin } from './address.ts';
import type { UpstreamConfig } from './catalog.ts';
import type { WrittenUpstream } from './file-schema.ts';
import { UPSTREAM_KINDS, type UpstreamKind, type UpstreamKindName } from './kinds.ts';
import type { Path } from './mistakes.ts';
import { PRESETS, type Preset, type PresetName } from './presets.ts';
import { isSecretHeader, isSecretOption, type References } from './secrets.ts';
import { meantHint, mustBeOneOf } from './strict.ts';

/** One upstream with its references resolved; errors are collected with those of the references. */
export function buildUpstream(
  name: string,
  written: WrittenUpstream,
  references: References,
): UpstreamConfig {
  const path = ['upstreams', name];
  const given = withKind(written, path, references);
  const preset: Preset | undefined = given.preset && PRESETS[given.preset];
  if (preset && given.kind !== 'openai')
    references.mistakes.push({ path: [...path, 'preset'], message: 'is only for kind openai' });
  const entry = preset ? withPreset(given, preset) : given;
  checkKind(path, entry, references);
  checkPassFields(path, entry, references);
  const withheldBefore = references.withheld.length;
  const { kind } = entry;
  const baseUrl =
    entry.base_url === undefined ? undefined : readUrl(entry.base_url, [...path, 'base_url'], references);
  const options = new Map<string, string>();
  for (const option of addressOptions(UPSTREAM_KINDS[kind])) {
    const value = entry.options[option];
    if (value !== undefined) options.set(option, readLabel(value, [...path, 'options', option], references));
  }
  const origin = upstreamOrigin({ kind, baseUrl, options });
  const secret = (value: string, at: Path): string => references.resolveSecret(value, at, origin) ?? '';
  const plain = (value: string, at: Path): string => references.resolve(value, at, origin) ?? '';
  for (const [option, value] of Object.entries(entry.options)) {
    const at = [...path, 'options', option];
    if (options.has(option)) continue;
    const text = isSecretOption(option) ? secret(value, at) : plain(value, at);
    checkChoice(entry, { option, text, at }, references);
    options.set(option, text);
  }
  const apiKeys = entry.api_keys?.map((value, index) => secret(value, [...path, 'api_keys', index]));
  const upstream = {
    name,
    kind,
    baseUrl,
    apiKey: entry.api_key === undefined ? apiKeys?.[0] : secret(entry.api_key, [...path, 'api_key']),
    ...(apiKeys && apiKeys.length > 1 ? { apiKeys } : {}),
    headers: new Map(
      Object.entries(entry.headers).map(([header, value]) => {
        const at = [...path, 'headers', header];
        checkHeader(header, value, at, references);
        return [header.toLowerCase(), isSecretHeader(header) ? secret(value, at) : plain(value, at)];
      }),
    ),
    timeouts: {
      firstByteMs: entry.timeouts.first_byte_ms,
      idleMs: entry.timeouts.idle_ms,
      totalMs: entry.timeouts.total_ms,
    },
    options,
    speaksMessages: (UPSTREAM_KINDS[kind] as UpstreamKind).speaksMessages,
    dailyCostLimit: entry.daily_cost_limit_usd,
    ...(entry.paused && { paused: true as const }),
    unsupportedFields: preset?.unsupported?.filter((field) => !entry.pass_fields.includes(field)),
    wholeCap: preset?.wholeCap,
    images: preset?.images,
    listsModels: preset?.listsModels,
    preset: given.preset,
    markup: entry.markup,
    passFields: entry.pass_fields.length === 0 ? undefined : new Set(entry.pass_fields),
  };
  return { ...upstream, problem: references.withheld[withheldBefore]?.message };
}

/** An entry whose kind is one, and not the name of a preset. */
type UpstreamEntry = Omit<WrittenUpstream, 'kind'> & { readonly kind: UpstreamKindName };

/** `kind: groq` is short for `kind: openai, preset: groq`. */
function withKind(written: WrittenUpstream, path: Path, { mistakes }: References): UpstreamEntry {
  const { kind, preset } = written;
  if (isKind(kind)) return { ...written, kind };
  if (preset !== undefined && preset !== kind)
    mistakes.push({
      path: [...path, 'preset'],
      message: `is ${preset}, but kind names ${kind}; keep one of them`,
    });
  return { ...written, kind: 'openai', preset: kind };
}

function isKind(name: UpstreamKindName | PresetName): name is UpstreamKindName {
  return Object.hasOwn(UPSTREAM_KINDS, name);
}

/** The operator's entry, with the preset's values for what it leaves out. */
function withPreset(entry: UpstreamEntry, preset: Preset): UpstreamEntry {
  const { variable, capField, imageFormat, streamUsage } = preset;
  const hasKey = entry.api_key !== undefined || entry.api_keys !== undefined;
  return {
    ...entry,
    base_url: entry.base_url ?? preset.baseUrl,
    ...(hasKey || variable === undefined ? {} : { api_key: `\${${variable}}` }),
    options: {
      ...(capField && { cap_field: capField }),
      ...(imageFormat && { image_format: imageFormat }),
      ...(streamUsage === false && { stream_usage: 'false' }),
      ...entry.options,
    },
  };
}

function checkKind(path: Path, entry: UpstreamEntry, { mistakes }: References): void {
  const kind: UpstreamKind = UPSTREAM_KINDS[entry.kind];
  const given = new Set(Object.keys(entry.options).map((option) => `options.${option}`));
  if (entry.api_key !== undefined && entry.api_keys !== undefined)
    mistakes.push({
      path: [...path, 'api_keys'],
      message: 'cannot be given beside api_key; keep one of them',
    });
  for (const field of ['base_url', 'api_key', 'api_keys'] as const) {
    if (entry[field] === undefined) continue;
    given.add(field === 'api_keys' ? 'api_key' : field);
    if (!kind.remote)
      mistakes.push({ path: [...path, field], message: `has no use for kind ${entry.kind}; remove it` });
  }
  for (const alternatives of kind.needs) {
    if (alternatives.some((field) => given.has(field))) continue;
    mistakes.push({ path, message: `kind ${entry.kind} needs ${alternatives.join(' or ')}` });
  }
  for (const option of Object.keys(entry.options)) {
    if (kind.options.includes(option)) continue;
    const known = kind.options.length === 0 ? 'it has none' : `known: ${kind.options.join(', ')}`;
    mistakes.push({
      path: [...path, 'options', option],
      atKey: true,
      message: `unknown option of kind ${entry.kind}; ${known}${meantHint(option, kind.options)}`,
    });
  }
}

/** A field that the hold is computed from must reach a backend as it was held, whatever it is called. */
function checkPassFields(path: Path, entry: UpstreamEntry, { mistakes }: References): void {
  const kind: UpstreamKind = UPSTREAM_KINDS[entry.kind];
  const at = [...path, 'pass_fields'];
  if (entry.pass_fields.length > 0 && !kind.passesFields)
    mistakes.push({ path: at, message: `has no use for kind ${entry.kind}; remove it` });
  for (const [index, field] of entry.pass_fields.entries()) {
    if (NEVER_PASSED.has(field))
      mistakes.push({ path: [...at, index], message: `${field} is never passed as the client wrote it` });
  }
}

function checkChoice(
  entry: UpstreamEntry,
  { option, text, at }: { option: string; text: string; at: Path },
  { mistakes }: References,
): void {
  const kind: UpstreamKind = UPSTREAM_KINDS[entry.kind];
  const values = kind.choices?.[option];
  // An empty text is a reference that could not be resolved, which has its own error.
  if (values && text !== '' && !values.includes(text))
    mistakes.push({ path: at, message: mustBeOneOf(values, text) });
}

/** These belong to the connection; setting them by hand would break the request framing. */
const CONNECTION_HEADERS = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'te',
]);

function checkHeader(header: string, value: string, path: Path, { mistakes }: References): void {
  if (CONNECTION_HEADERS.has(header.toLowerCase())) {
    mistakes.push({ path, atKey: true, message: 'is set by the connection itself; remove it' });
  }
  if (/[^\x20-\x7e]/.test(value)) mistakes.push({ path, message: 'must be printable ASCII on one line' });
}

function readUrl(value: string, path: Path, references: References): string | undefined {
  const text = references.resolve(value, path, undefined);
  if (text === undefined) return undefined;
  const problem = urlProblem(text);
  if (problem !== undefined) references.mistakes.push({ path, message: problem });
  return text.replace(/\/+$/, '');
}

/** A part of a host name: anything else, such as `evil.example/`, would make it another host. */
function readLabel(value: string, path: Path, references: References): string {
  const text = references.resolve(value, path, undefined);
  if (text !== undefined && !/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(text))
    references.mistakes.push({ path, message: 'must be up to 63 letters, digits and -' });
  return text ?? '';
}

function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    return 'must be an address such as https://api.example.com/v1';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user or password; use api_key or headers';
  if (url.search !== '' || url.hash !== '') return 'must not hold a query or fragment';
  return undefined;
}
