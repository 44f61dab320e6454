import { openTransport, type MailConfig } from './mail-channel.ts';

interface MailServerCheck {
  readonly ok: boolean;
  readonly line: string;
}

/** Connects to the operator's mail server as a mail would, up to the login; nothing is sent. */
export async function checkMailServer(
  { smtpUrl, from }: MailConfig,
  timeoutMs: number,
): Promise<MailServerCheck> {
  const server = new URL(smtpUrl).host;
  const transport = await openTransport(smtpUrl, { timeoutMs, forceAuth: true });
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${timeoutMs / 1000} seconds`)),
    timeoutMs,
  );
  try {
    await Promise.race([transport.verify(), late.promise]);
    return { ok: true, line: `mail: ${server} can be used, from ${from.address}` };
  } catch (error) {
    return { ok: false, line: `mail: ${server} ${failureOf(error)}` };
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** The server's words are repeated only before the login: they might repeat the password. */
function failureOf(error: unknown): string {
  const { code, message, responseCode } = error as Error & {
    readonly code?: string;
    readonly responseCode?: number;
  };
  if (code === 'EAUTH')
    return `does not accept the user and the password of TOLLGATE_SMTP_URL${responseCode === undefined ? '' : ` (${responseCode})`}.`;
  if (code === 'ETLS')
    return `offers no usable TLS, and a user and a password are sent over TLS only: ${message}.`;
  return `cannot be used: ${message}.`;
}
