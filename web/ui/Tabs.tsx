import { Tabs as Radix } from 'radix-ui';
import { useEffect, useRef, type ReactNode } from 'react';
import { classes } from '../lib/classes.ts';

interface TabsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly tabs: readonly { readonly value: Value; readonly label: ReactNode }[];
  readonly children: ReactNode;
  readonly className?: string;
}

/** Tabs with the panel of the chosen one; arrow keys move between them. */
export function Tabs<Value extends string>({
  label,
  value,
  onChange,
  tabs,
  children,
  className,
}: TabsProps<Value>) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => showChosen(list.current), [value]);
  return (
    <Radix.Root
      value={value}
      // The values offered are the only ones that come back.
      onValueChange={(next) => onChange(next as Value)}
      className={classes('min-w-0', className)}
    >
      <Radix.List
        ref={list}
        aria-label={label}
        className="thin-scroll flex gap-1 overflow-x-auto border-b border-line"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px h-9 shrink-0 border-b-2 border-transparent px-3 text-base whitespace-nowrap text-ink-3 transition-colors hover:text-ink focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      <Radix.Content value={value} className="pt-4" tabIndex={-1}>
        {children}
      </Radix.Content>
    </Radix.Root>
  );
}

/** On a narrow screen the chosen tab may be out of sight. Only the row scrolls, never the page. */
function showChosen(list: HTMLElement | null): void {
  const chosen = list?.querySelector('[data-state=active]');
  if (!list || !chosen) return;
  const [row, tab] = [list.getBoundingClientRect(), chosen.getBoundingClientRect()];
  if (tab.right > row.right) list.scrollLeft += tab.right - row.right;
  else if (tab.left < row.left) list.scrollLeft -= row.left - tab.left;
}
