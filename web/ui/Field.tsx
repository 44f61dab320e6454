import { Children, isValidElement, useId, type ComponentProps, type ReactNode } from 'react';
import ChevronDown from 'lucide-react/icons/chevron-down';
import { classes } from '../lib/classes.ts';
import { Switch as Radix } from 'radix-ui';
import { useTranslation } from '../lib/translation.tsx';
import { useShownOnly } from './Form.tsx';

interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: ReactNode;
  readonly hideLabel?: boolean;
  readonly className?: string | undefined;
  readonly children: (ids: FieldIds) => ReactNode;
}

export interface FieldIds {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** Label, control, hint and error, tied together for screen readers. */
export function Field({ label, hint, error, hideLabel, className, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const note = error ?? hint;
  const isShownOnly = useShownOnly();
  if (isShownOnly)
    return (
      <div className={classes('flex min-w-0 flex-col gap-0.5', className)}>
        <span className={hideLabel ? 'sr-only' : 'text-sm text-ink-3'}>{label}</span>
        {children({ id, 'aria-describedby': undefined, 'aria-invalid': undefined })}
      </div>
    );
  return (
    <div className={classes('flex min-w-0 flex-col gap-1.5', className)}>
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'text-sm font-medium text-ink-2'}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': note ? noteId : undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {note ? (
        <p
          id={noteId}
          role={error ? 'alert' : undefined}
          className={classes('text-sm', error ? 'text-bad' : 'text-ink-3')}
        >
          {note}
        </p>
      ) : null}
    </div>
  );
}

const CONTROL =
  'w-full min-w-0 rounded-md border border-field bg-surface text-base text-ink transition-colors hover:border-ink-3 ' +
  'focus-visible:outline-offset-0 aria-invalid:border-bad disabled:opacity-60 max-sm:text-lg';

interface FixedProps {
  readonly label: string | undefined;
  readonly value: ComponentProps<'input'>['value'];
  readonly otherwise: string | undefined;
}

/** What a field would have in it. */
function Fixed({ label, value = '', otherwise }: FixedProps) {
  return (
    <span className={classes('break-words whitespace-pre-wrap', value === '' && 'text-ink-3')}>
      {label ? <span className="sr-only">{label} </span> : null}
      {value === '' ? (otherwise ?? '–') : value}
    </span>
  );
}

/** A dialog that opens takes the focus away, and then gives it to the field with this mark. */
export function Input({ className, ...rest }: ComponentProps<'input'>) {
  if (useShownOnly())
    return <Fixed label={rest['aria-label']} value={rest.value} otherwise={rest.placeholder} />;
  return (
    <input data-autofocus={rest.autoFocus} className={classes(CONTROL, 'h-9 px-3', className)} {...rest} />
  );
}

export function Textarea({ className, ...rest }: ComponentProps<'textarea'>) {
  if (useShownOnly())
    return <Fixed label={rest['aria-label']} value={rest.value} otherwise={rest.placeholder} />;
  return <textarea className={classes(CONTROL, 'thin-scroll px-3 py-2', className)} {...rest} />;
}

function Select({ className, children, ...rest }: ComponentProps<'select'>) {
  const isShownOnly = useShownOnly();
  if (isShownOnly) {
    const chosen = Children.toArray(children).find(
      (option) =>
        isValidElement<ComponentProps<'option'>>(option) &&
        (option.props.value ?? option.props.children) === rest.value,
    );
    const text = isValidElement<ComponentProps<'option'>>(chosen) ? chosen.props.children : rest.value;
    return <span>{text}</span>;
  }
  return (
    <span className={classes('relative inline-flex min-w-0', className)}>
      <select className={classes(CONTROL, 'h-9 appearance-none truncate pr-8 pl-3')} {...rest}>
        {children}
      </select>
      <ChevronDown
        size={15}
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-ink-3"
      />
    </span>
  );
}

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'children'> {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: ReactNode;
  readonly hideLabel?: boolean;
  readonly fieldClassName?: string;
}

export function TextField({
  label,
  hint,
  error,
  hideLabel = false,
  fieldClassName,
  ...rest
}: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} hideLabel={hideLabel} className={fieldClassName}>
      {(ids) => <Input {...ids} {...rest} />}
    </Field>
  );
}

interface SelectFieldProps extends ComponentProps<'select'> {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly hideLabel?: boolean;
  readonly fieldClassName?: string;
}

export function SelectField({
  label,
  hint,
  hideLabel = false,
  fieldClassName,
  children,
  ...rest
}: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} hideLabel={hideLabel} className={fieldClassName}>
      {(ids) => (
        <Select {...ids} {...rest}>
          {children}
        </Select>
      )}
    </Field>
  );
}

function SaidState({ label, isOn }: { readonly label: ReactNode; readonly isOn: boolean }) {
  const { t } = useTranslation();
  return (
    <span className="flex flex-wrap gap-x-2 text-base">
      {label}
      <span className="text-ink-3">{t(isOn ? 'accounts.on' : 'accounts.off')}</span>
    </span>
  );
}

interface CheckProps extends Omit<ComponentProps<'input'>, 'type'> {
  readonly label: ReactNode;
}

export function Check({ label, className, ...rest }: CheckProps) {
  if (useShownOnly()) return <SaidState label={label} isOn={rest.checked === true} />;
  return (
    <label className={classes('inline-flex cursor-pointer items-start gap-2.5 text-base', className)}>
      <input type="checkbox" className="mt-0.5 size-4.5 shrink-0 accent-accent" {...rest} />
      <span>{label}</span>
    </label>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Switch({ label, checked, onChange, disabled }: SwitchProps) {
  if (useShownOnly()) return <SaidState label={label} isOn={checked} />;
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
