import type { ComponentProps, ReactNode } from 'react';
import LoaderCircle from 'lucide-react/icons/loader-circle';
import { classes } from '../lib/classes.ts';
import { useShownOnly } from './Form.tsx';
import { Link } from './Link.tsx';

export type ButtonKind = 'primary' | 'plain' | 'ghost' | 'danger';

interface Look {
  readonly kind?: ButtonKind;
  readonly small?: boolean;
  readonly icon?: ReactNode;
}

interface Reads {
  /** It changes nothing, and stays for those who may only look. */
  readonly reads?: boolean;
}

type ButtonProps = ComponentProps<'button'> & Look & Reads & { readonly busy?: boolean };

export function Button({
  kind = 'plain',
  small,
  icon,
  busy,
  className,
  children,
  disabled,
  type,
  reads,
  ...rest
}: ButtonProps) {
  if (useShownOnly() && !reads) return null;
  return (
    <button
      // oxlint-disable-next-line react/button-has-type -- a plain union, "button" unless a form asks otherwise
      type={type ?? 'button'}
      className={classes(look(kind, small), className)}
      disabled={disabled === true || busy === true}
      aria-busy={busy}
      {...rest}
    >
      {busy ? <LoaderCircle size={15} className="animate-turn" aria-hidden /> : icon}
      {children}
    </button>
  );
}

type LinkButtonProps = {
  readonly href: string;
  readonly children: ReactNode;
  readonly className?: string;
} & Look;

export function LinkButton({ kind = 'plain', small, icon, href, children, className }: LinkButtonProps) {
  if (useShownOnly()) return null;
  return (
    <Link href={href} className={classes(look(kind, small), className)}>
      {icon}
      {children}
    </Link>
  );
}

type IconButtonProps = Omit<ComponentProps<'button'>, 'aria-label'> &
  Reads & {
    readonly label: string;
    readonly children: ReactNode;
  };

/** A square with an icon; the label is its name for screen readers and its tooltip for everybody else. */
export function IconButton({ label, className, children, reads, ...rest }: IconButtonProps) {
  if (useShownOnly() && !reads) return null;
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        'inline-grid size-8 shrink-0 place-items-center rounded-md text-ink-2 transition-colors hover:bg-hover hover:text-ink disabled:opacity-45',
        className,
      )}
      {...rest}
    >
      {children}
    </button>
  );
}

function look(kind: ButtonKind, small: boolean | undefined): string {
  return classes(
    'inline-flex items-center justify-center gap-2 rounded-md font-medium whitespace-nowrap transition-colors select-none',
    'disabled:cursor-not-allowed disabled:opacity-50',
    small ? 'h-8 px-3 text-sm' : 'h-9 px-4 text-base',
    KINDS[kind],
  );
}

const KINDS: Record<ButtonKind, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  plain: 'border border-line bg-surface text-ink hover:bg-hover',
  ghost: 'text-ink-2 hover:bg-hover hover:text-ink',
  danger: 'bg-bad text-on-bad hover:opacity-90',
};
