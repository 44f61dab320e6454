import type { ReactNode } from 'react';
import { classes } from '../lib/classes.ts';
import { useTitle } from '../lib/session.ts';

interface CardProps {
  readonly title?: ReactNode;
  readonly hint?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** Tables and lists reach the edge; text does not. */
  readonly flush?: boolean;
}

export function Card({ title, hint, actions, children, className, flush }: CardProps) {
  return (
    <section className={classes('min-w-0 rounded-lg border border-line bg-surface', className)}>
      {title || actions ? (
        <header
          className={classes(
            'flex flex-wrap items-center gap-x-4 gap-y-2 px-5 pt-4',
            flush ? 'pb-3' : 'pb-1',
          )}
        >
          <div className="min-w-0 flex-1 basis-44">
            {title ? <h2 className="text-base font-semibold tracking-tight text-balance">{title}</h2> : null}
            {hint ? <p className="text-sm text-ink-3">{hint}</p> : null}
          </div>
          {actions}
        </header>
      ) : null}
      <div className={flush ? '' : title || actions ? 'px-5 pt-3 pb-5 empty:pt-0 empty:pb-3' : 'p-5'}>
        {children}
      </div>
    </section>
  );
}

interface PageProps {
  readonly title: ReactNode;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

/** Every page of the console begins the same way. */
export function Page({ title, lead, actions, children, wide }: PageProps) {
  useTitle(typeof title === 'string' ? title : undefined);
  return (
    <div
      className={classes(
        'mx-auto w-full px-4 pt-6 pb-16 sm:px-8 sm:pt-8',
        wide ? 'max-w-[90rem]' : 'max-w-[72rem]',
      )}
    >
      <header className="mb-6 flex flex-wrap items-start gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
          {lead ? <p className="mt-0.5 max-w-[80ch] text-pretty text-ink-3">{lead}</p> : null}
        </div>
        {actions ? <div className="flex flex-wrap items-center gap-2">{actions}</div> : null}
      </header>
      <div className="flex flex-col gap-5">{children}</div>
    </div>
  );
}
