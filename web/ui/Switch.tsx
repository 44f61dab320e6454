import { Switch as Radix } from 'radix-ui';

interface SwitchProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Switch({ label, checked, onChange, disabled }: SwitchProps) {
  return (
    <label className="inline-flex cursor-pointer items-center gap-2.5 text-sm text-ink-2">
      <Radix.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled ?? false}
        aria-label={label}
        className="relative h-5 w-9 shrink-0 rounded-full border border-field bg-sunken transition-colors data-[state=checked]:border-accent data-[state=checked]:bg-accent"
      >
        <Radix.Thumb className="block size-3.5 translate-x-0.5 rounded-full bg-ink-3 transition-transform data-[state=checked]:translate-x-4.5 data-[state=checked]:bg-on-accent" />
      </Radix.Root>
      <span aria-hidden>{label}</span>
    </label>
  );
}
