import { useTranslation } from 'react-i18next';
import { useSite } from '../../lib/session.ts';
import { Contact } from '../../ui/Contact.tsx';

/** Tollgate sends no mail: the operator makes the link, so the page says whom to ask. */
export function ForgotPassword() {
  const { t } = useTranslation();
  const contact = useSite()?.contact;
  return (
    <p>
      {contact ? (
        <>
          {t('auth.forgotContact')} <Contact text={contact} />
        </>
      ) : (
        t('auth.forgot')
      )}
    </p>
  );
}
