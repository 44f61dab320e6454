import type { ReactNode } from 'react';
import { classes } from '../lib/classes.ts';

interface FormProps {
  readonly onSubmit: () => void;
  readonly children: ReactNode;
  readonly className?: string;
  readonly role?: 'search';
  /** For a page with two searches. */
  readonly label?: string;
}

/** A form that is sent by its handler and never by the browser. */
export function Form({ onSubmit, children, className, role, label }: FormProps) {
  return (
    <form
      role={role}
      aria-label={label}
      className={classes(className ?? 'flex flex-col gap-4')}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
