import { ToggleGroup } from 'radix-ui';
import type { ReactNode } from 'react';

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly { readonly value: Value; readonly label: ReactNode; readonly title?: string }[];
}

/** A few options side by side, exactly one of them chosen. */
export function Segments<Value extends string>({ label, value, onChange, options }: SegmentsProps<Value>) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={label}
      value={value}
      // An empty value means that the chosen one was pressed again: it stays chosen.
      onValueChange={(next) => next && onChange(next as Value)}
      className="inline-flex w-fit max-w-full overflow-x-auto rounded-md border border-line bg-sunken p-0.5"
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          title={option.title}
          aria-label={option.title}
          className="inline-flex h-7 items-center gap-1.5 rounded-sm px-2.5 text-sm whitespace-nowrap text-ink-2 transition-colors hover:text-ink focus-visible:-outline-offset-1 data-[state=on]:bg-raised data-[state=on]:font-medium data-[state=on]:text-ink data-[state=on]:shadow-[0_0_0_1px_var(--c-line)]"
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}
