import { useId, useState, type KeyboardEvent, type ReactNode } from 'react';
import ChevronDown from 'lucide-react/icons/chevron-down';
import { classes } from '../lib/classes.ts';
import { findOptions, type Option } from '../lib/options.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Field, Input, SelectField, type FieldIds } from './Field.tsx';

interface PickerProps {
  readonly label: ReactNode;
  readonly hideLabel?: boolean;
  readonly value: string;
  readonly options: readonly Option[];
  readonly onChange: (value: string) => void;
  readonly fieldClassName?: string;
}

/** Longer lists are searched rather than scrolled. */
const MOST_IN_SELECT = 40;

/** One choice of many: the browser's own list where it is short, otherwise one that is searched by typing. */
export function Picker(props: PickerProps) {
  const { label, hideLabel = false, value, options, onChange, fieldClassName = '' } = props;
  if (options.length > MOST_IN_SELECT)
    return (
      <Field label={label} hideLabel={hideLabel} className={fieldClassName}>
        {(ids) => <Combobox ids={ids} value={value} options={options} onChange={onChange} />}
      </Field>
    );
  return (
    <SelectField
      label={label}
      hideLabel={hideLabel}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      fieldClassName={fieldClassName}
    >
      {grouped(options).map(([group, own]) =>
        group === undefined ? (
          own.map((option) => <NativeOption key={option.value} option={option} />)
        ) : (
          <optgroup key={group} label={group}>
            {own.map((option) => (
              <NativeOption key={option.value} option={option} />
            ))}
          </optgroup>
        ),
      )}
    </SelectField>
  );
}

function NativeOption({ option }: { option: Option }) {
  return (
    <option value={option.value} disabled={option.disabled}>
      {option.label}
    </option>
  );
}

function grouped(options: readonly Option[]): [string | undefined, Option[]][] {
  const groups = new Map<string | undefined, Option[]>();
  for (const option of options) {
    const own = groups.get(option.group);
    if (own) own.push(option);
    else groups.set(option.group, [option]);
  }
  return [...groups];
}

interface ComboboxProps extends Pick<PickerProps, 'value' | 'options' | 'onChange'> {
  readonly ids: FieldIds;
}

interface ComboboxState {
  /** What was typed; `undefined` while the list is closed. */
  readonly text: string | undefined;
  readonly shown: readonly Option[];
  readonly more: number;
  /** The option that Enter would choose. */
  readonly active: number;
  readonly open: (typed: string) => void;
  readonly close: () => void;
  readonly pick: (option: Option | undefined) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function useCombobox(options: readonly Option[], onChange: (value: string) => void): ComboboxState {
  const [text, setText] = useState<string>();
  const [active, setActive] = useState(0);
  const isOpen = text !== undefined;
  const { shown, more } = isOpen ? findOptions(options, text) : { shown: [], more: 0 };
  const close = (): void => setText(undefined);
  const open = (typed: string): void => {
    setText(typed);
    setActive(0);
  };
  const pick = (option: Option | undefined): void => {
    if (!option || option.disabled) return;
    onChange(option.value);
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = movedTo(event.key, active, shown.length);
    if (next !== undefined && !isOpen) open('');
    else if (next !== undefined) setActive(next);
    else if (event.key === 'Enter' && isOpen) pick(shown[active]);
    else if (event.key === 'Escape' && isOpen) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { text, shown, more, active, open, close, pick, onKeyDown };
}

/** The pattern of the ARIA Authoring Practices: an editable combobox with a list, in which focus stays in the field. */
function Combobox({ ids, value, options, onChange }: ComboboxProps) {
  const { t } = useTranslation();
  const listId = useId();
  const { text, shown, more, active, open, close, pick, onKeyDown } = useCombobox(options, onChange);
  const isOpen = text !== undefined;
  const chosen = options.find((option) => option.value === value)?.label ?? value;
  return (
    <span className="relative block">
      <Input
        {...ids}
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && shown.length > 0 ? `${listId}-${active}` : undefined}
        autoComplete="off"
        spellCheck={false}
        className="truncate pr-8"
        value={text ?? chosen}
        placeholder={chosen}
        onChange={(event) => open(event.target.value)}
        onClick={() => isOpen || open('')}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      <ChevronDown
        size={15}
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-ink-3"
      />
      <div
        id={listId}
        role="listbox"
        aria-label={t('common.results')}
        hidden={!isOpen}
        className="thin-scroll absolute top-full right-0 left-0 z-40 mt-1 max-h-80 min-w-64 overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-pop"
      >
        {shown.map((option, index) => (
          <Choice
            key={option.value}
            id={`${listId}-${index}`}
            option={option}
            isActive={index === active}
            isChosen={option.value === value}
            onPick={() => pick(option)}
          />
        ))}
      </div>
      <span role="status" className="sr-only">
        {isOpen && shown.length === 0 ? t('common.noResults') : ''}
        {isOpen && more > 0 ? t('common.moreResults', { count: more }) : ''}
      </span>
    </span>
  );
}

interface ChoiceProps {
  readonly id: string;
  readonly option: Option;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onPick: () => void;
}

function Choice({ id, option, isActive, isChosen, onPick }: ChoiceProps) {
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the keys
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      aria-disabled={option.disabled}
      ref={(element) => {
        if (isActive) element?.scrollIntoView({ block: 'nearest' });
      }}
      // The field keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPick}
      className={classes(
        'cursor-pointer rounded-md px-3 py-1.5 select-none',
        isActive && 'bg-hover',
        isChosen && 'font-medium',
        option.disabled && 'cursor-default opacity-50',
      )}
    >
      <span className="block truncate">{option.label}</span>
      {option.group ? <span className="block truncate text-xs text-ink-3">{option.group}</span> : null}
    </div>
  );
}

function movedTo(key: string, active: number, count: number): number | undefined {
  if (key === 'ArrowDown') return Math.min(active + 1, Math.max(0, count - 1));
  if (key === 'ArrowUp') return Math.max(active - 1, 0);
  return undefined;
}
