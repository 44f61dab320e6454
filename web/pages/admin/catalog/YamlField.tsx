import { useRef, type KeyboardEvent } from 'react';
import type { AdminCatalogProposal } from '../../../../src/console/contract.ts';
import { classes } from '../../../lib/classes.ts';
import { useTranslation } from '../../../lib/translation.tsx';

interface YamlFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly problems: AdminCatalogProposal['problems'];
}

const LINE_PX = 20;

/** A text area with line numbers; lines that are wrong are marked. Tab indents after Escape has not been pressed. */
export function YamlField({ value, onChange, problems }: YamlFieldProps) {
  const { t } = useTranslation();
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = new Set(problems.map((problem) => problem.line));
  const lines = value.split('\n').length;
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key !== 'Tab' || event.shiftKey || escaped.current) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    event.currentTarget.setRangeText('  ', selectionStart, selectionEnd, 'end');
    onChange(event.currentTarget.value);
  };
  // Escape lets the next Tab leave the field, so that it is no trap for keyboards.
  const escaped = useRef(false);
  return (
    <div className="relative flex h-[70dvh] min-h-80 overflow-hidden rounded-lg border border-field bg-surface font-mono text-sm focus-within:border-accent">
      <div
        ref={gutter}
        aria-hidden
        className="w-12 shrink-0 overflow-hidden border-r border-line bg-sunken py-3 text-right text-ink-3 select-none"
      >
        {Array.from({ length: lines }, (_, index) => (
          <div
            key={index}
            style={{ height: LINE_PX, lineHeight: `${LINE_PX}px` }}
            className={classes('pr-2', wrong.has(index + 1) && 'bg-bad-soft font-semibold text-bad')}
          >
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        aria-label={t('catalog.yaml')}
        aria-invalid={problems.length > 0 ? true : undefined}
        value={value}
        spellCheck={false}
        wrap="off"
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') escaped.current = true;
          else if (event.key !== 'Tab') escaped.current = false;
          onKeyDown(event);
        }}
        onScroll={(event) => {
          if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
        }}
        style={{ lineHeight: `${LINE_PX}px` }}
        className="thin-scroll min-w-0 flex-1 resize-none bg-transparent px-3 py-3 outline-none"
      />
    </div>
  );
}
