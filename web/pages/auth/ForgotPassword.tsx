import { useSession, useSite } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Contact } from '../../ui/Contact.tsx';
import { Link } from '../../ui/Link.tsx';

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
