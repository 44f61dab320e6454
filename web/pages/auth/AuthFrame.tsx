import type { ReactNode, ChangeEvent } from 'react';
import { useTitle } from '../../lib/session.ts';
import { PublicShell } from '../../shell/PublicShell.tsx';
import { useTranslation } from '../../lib/translation.tsx';
import { TextField } from '../../ui/Field.tsx';

interface AuthFrameProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
}

export function AuthFrame({ title, lead, children, footer }: AuthFrameProps) {
  useTitle(title);
  return (
    <PublicShell>
      <div className="mx-auto w-full max-w-[25rem] px-4 py-14 sm:py-20">
        <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
        {lead ? <p className="mt-1 text-ink-3">{lead}</p> : null}
        <div className="mt-7">{children}</div>
        {footer ? <div className="mt-7 border-t border-line pt-5 text-ink-3">{footer}</div> : null}
      </div>
    </PublicShell>
  );
}

/** How to reach the operator, as they wrote it: a link if it is an email address or a page, else plain text. */
export function Contact({ text }: { text: string }) {
  const href = hrefOf(text);
  if (href === undefined) return <span className="break-words text-ink-2">{text}</span>;
  return (
    <a href={href} rel="noreferrer" className="break-words text-accent underline underline-offset-2">
      {text}
    </a>
  );
}

function hrefOf(text: string): string | undefined {
  if (/^[^\s@/:?&#]+@[^\s@/:?&#]+\.[^\s@/:?&#]+$/.test(text)) return `mailto:${text}`;
  return /^https:\/\/\S+$/.test(text) && URL.canParse(text) ? text : undefined;
}

interface PasswordFieldProps {
  readonly value: string;
  readonly onChange: (event: ChangeEvent<HTMLInputElement>) => void;
  readonly label?: string;
  readonly error?: string | undefined;
  readonly autoFocus?: boolean;
}

/** A new password: the server's rules are shown before it is sent. */
export function NewPasswordField({ value, onChange, label, error, autoFocus = false }: PasswordFieldProps) {
  const { t } = useTranslation();
  return (
    <TextField
      label={label ?? t('auth.newPassword')}
      hint={t('auth.passwordHint')}
      error={error}
      type="password"
      name="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={128}
      autoFocus={autoFocus}
      required
      value={value}
      onChange={onChange}
    />
  );
}
