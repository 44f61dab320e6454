import Check from 'lucide-react/icons/check';
import type { ReactNode } from 'react';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly hint?: string;
  /** The decision; a step that is done shows nothing else. */
  readonly done?: ReactNode;
  /** The button that opens it again. */
  readonly again?: string;
  readonly onAgain?: () => void;
  readonly children?: ReactNode;
}

/** One of several steps. What is done folds to a line, so that only one asks for something. */
export function Step({ number, title, hint, done, again, onAgain, children }: StepProps) {
  const { t } = useTranslation();
  const heading = <StepTitle number={number} title={title} isDone={Boolean(done)} />;
  if (!done)
    return (
      <Card title={heading} hint={hint}>
        {children}
      </Card>
    );
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h2 className="text-base font-semibold tracking-tight">{heading}</h2>
        <div className="min-w-0 flex-1 basis-48 text-ink-2">{done}</div>
        {onAgain ? (
          <Button small onClick={onAgain}>
            {again ?? t('newBackend.edit')}
            <span className="sr-only"> {title}</span>
          </Button>
        ) : null}
      </div>
    </Card>
  );
}

interface StepTitleProps extends Pick<StepProps, 'number' | 'title'> {
  readonly isDone?: boolean;
}

export function StepTitle({ number, title, isDone = false }: StepTitleProps) {
  return (
    <span className="flex items-center gap-2.5">
      <span
        aria-hidden
        className={
          isDone
            ? 'grid size-6 shrink-0 place-items-center rounded-full bg-accent-soft text-accent'
            : 'grid size-6 shrink-0 place-items-center rounded-full bg-sunken text-sm text-ink-2'
        }
      >
        {isDone ? <Check size={14} /> : number}
      </span>
      {title}
    </span>
  );
}
