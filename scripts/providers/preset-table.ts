import { PRESETS, type Preset } from '../../src/catalog/presets.ts';

export const PAGE = new URL('../../docs/providers.md', import.meta.url);

const BEGIN = '<!-- The table is written by `bun scripts/write-providers.ts`. -->';
const END = '<!-- The end of the table. -->';

/** The page with its table of presets as they are now. */
export function withPresetTable(page: string): string {
  const [before, rest = ''] = page.split(BEGIN);
  const [, after = ''] = rest.split(END);
  return `${before}${BEGIN}\n\n${presetTable()}\n\n${END}${after}`;
}

function presetTable(): string {
  const entries: [string, Preset][] = Object.entries(PRESETS);
  return [
    '| preset | provider, address | key | output cap | does not take | thoughts | to know | from |',
    '|---|---|---|---|---|---|---|---|',
    ...entries.map(([name, preset]) => `| ${cells(name, preset).join(' | ')} |`),
  ].join('\n');
}

function cells(name: string, preset: Preset): string[] {
  const { title, baseUrl, variable, capField, unsupported = [], reasoning, source } = preset;
  const notTaken = [...(preset.streamUsage === false ? ['stream_options'] : []), ...unsupported];
  const notes = [...(preset.listsModels === false ? ['No list of models.'] : []), preset.notes ?? ''];
  return [
    `\`${name}\``,
    `${title}, ${baseUrl}`,
    variable === undefined ? 'none' : `\`${variable}\``,
    capField === undefined ? "by the model's name" : `\`${capField}\``,
    notTaken.map((field) => `\`${field}\``).join(', '),
    reasoning === undefined ? '' : `\`${reasoning}\``,
    notes.join(' ').trim(),
    `[source](${source})`,
  ];
}
