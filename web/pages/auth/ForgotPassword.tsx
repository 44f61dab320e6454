import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { useSession, useSite } from '../../lib/session.ts';
import { Contact } from '../../ui/Contact.tsx';

/** Where the server sends mail, the way to a link; otherwise the operator makes it, so the page says whom to ask. */
export function ForgotPassword() {
  const { t } = useTranslation();
  const contact = useSite()?.contact;
  if (useSession().data?.sendsMail)
    return (
      <p>
        <Link href="/forgot-password" className="text-accent underline underline-offset-2">
          {t('mailbox.forgot')}
        </Link>
      </p>
    );
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
