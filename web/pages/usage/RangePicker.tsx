import type { SearchState } from '../../lib/search.ts';
import { useToday } from '../../lib/now.ts';
import { shiftDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Segments } from '../../ui/Segments.tsx';

const PRESETS = ['7', '30', '90'] as const;
const DEFAULT = '30';

interface RangePickerProps {
  readonly state: SearchState;
  readonly change: (next: Record<string, string | undefined>) => void;
}

export function RangePicker({ state, change }: RangePickerProps) {
  const { t } = useTranslation();
  const today = useToday();
  const range = rangeOf(state, today);
  const preset =
    state['from'] || state['to'] ? 'custom' : (PRESETS.find((days) => days === state['days']) ?? DEFAULT);
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Segments
        label={t('usage.range')}
        value={preset}
        onChange={(days) => change({ days, from: undefined, to: undefined })}
        options={PRESETS.map((days) => ({ value: days, label: t('usage.last', { count: Number(days) }) }))}
      />
      <TextField
        label={t('usage.from')}
        type="date"
        value={range.from}
        max={range.to}
        onChange={(event) => change({ ...range, from: event.target.value })}
      />
      <TextField
        label={t('usage.to')}
        type="date"
        value={range.to}
        min={range.from}
        max={today}
        onChange={(event) => change({ ...range, to: event.target.value })}
      />
    </div>
  );
}

/** The days in the address, or the last thirty. */
export function rangeOf(state: SearchState, today: string): { from: string; to: string } {
  const to = state['to'] ?? today;
  const days = Number(PRESETS.find((preset) => preset === state['days']) ?? DEFAULT);
  return { from: state['from'] ?? shiftDay(to, 1 - days), to };
}
