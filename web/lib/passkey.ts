import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
  type AuthenticationResponseJSON,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/browser';

/**
 * Why there are no passkeys here: the browser does not support them, or the address is an IP address, and a passkey
 * needs a host name.
 */
export function passkeysMissing(): 'browser' | 'name' | undefined {
  if (!isSecureContext || !browserSupportsWebAuthn()) return 'browser';
  return /^[\d.]+$|:/.test(location.hostname.replace(/^\[/, '')) ? 'name' : undefined;
}

/** Whether the browser can offer passkeys in the autofill of the email field. */
export async function canOfferInField(): Promise<boolean> {
  return !passkeysMissing() && (await browserSupportsWebAuthnAutofill());
}

/** The user closed the browser's dialog, or it timed out. */
export class PasskeyCancelled extends Error {}

/** This device, or this password manager, has a passkey for the account already. */
export class PasskeyExists extends Error {}

export async function createPasskey(
  optionsJSON: PublicKeyCredentialCreationOptionsJSON,
): Promise<RegistrationResponseJSON> {
  return await startRegistration({ optionsJSON }).catch(explain);
}

export interface AskOptions {
  /** Offered in the autofill of the email field, without a dialog, until the signal aborts. */
  readonly inField: boolean;
  readonly signal: AbortSignal;
}

export async function askForPasskey(
  options: PublicKeyCredentialRequestOptionsJSON,
  { inField, signal }: AskOptions,
): Promise<AuthenticationResponseJSON> {
  const cancel = (): void => WebAuthnAbortService.cancelCeremony();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await startAuthentication({
      optionsJSON: { ...options, userVerification: 'required' },
      useBrowserAutofill: inField,
    });
  } catch (error) {
    return explain(error);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Browsers say "not allowed" for a closed dialog and for a time-out alike, so that pages learn nothing from it. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  if (name === 'InvalidStateError') throw new PasskeyExists();
  if (name === 'NotAllowedError' || name === 'AbortError') throw new PasskeyCancelled();
  throw error;
}
