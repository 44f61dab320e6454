import { createContext, useContext, type ReactNode } from 'react';
import type { SignedInUser } from '../lib/answers.ts';
import { classes } from '../lib/classes.ts';
import { useUser } from '../lib/session.ts';

const ShownOnlyContext = createContext(false);

/** True: whoever looks may not change this. Fields are texts then, and there are no buttons. */
export function useShownOnly(): boolean {
  return useContext(ShownOnlyContext);
}

interface ChangeableProps {
  /** What the role of an operator must include. */
  readonly right: SignedInUser['rights'][number];
  /** Instead, for those who may not; absent: the same, as text. */
  readonly otherwise?: ReactNode;
  readonly children: ReactNode;
}

/** What only some roles may change. The others see it, and are offered nothing that the server would refuse. */
export function Changeable({ right, otherwise, children }: ChangeableProps) {
  const may = useUser().rights.includes(right);
  if (!may && otherwise !== undefined) return otherwise;
  return <ShownOnlyContext value={!may}>{children}</ShownOnlyContext>;
}

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
  if (useShownOnly()) return <div className={classes(className ?? 'flex flex-col gap-4')}>{children}</div>;
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
