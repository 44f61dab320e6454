import type { ChangeEvent } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { TextField } from '../../ui/Field.tsx';

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
