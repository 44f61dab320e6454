import { useTranslation } from 'react-i18next';
import { useSite } from '../../lib/session.ts';
import { Contact } from '../../ui/Contact.tsx';

/** Nobody gets a link by mail here: the operator makes it, so the page says whom to ask. */
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
