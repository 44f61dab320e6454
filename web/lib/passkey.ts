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

/** Why there are no passkeys here: the browser has none, or the address is a number, and a passkey belongs to a name. */
export function passkeysMissing(): 'browser' | 'name' | undefined {
  if (!isSecureContext || !browserSupportsWebAuthn()) return 'browser';
  return /^[\d.]+$|:/.test(location.hostname.replace(/^\[/, '')) ? 'name' : undefined;
}

/** Whether the browser can offer passkeys in the e-mail field, among what it fills in. */
export async function canOfferInField(): Promise<boolean> {
  return !passkeysMissing() && (await browserSupportsWebAuthnAutofill());
}

/** The person closed the browser's dialog, or let it time out. */
export class PasskeyCancelled extends Error {}

/** This device, or this password manager, has a passkey for the account already. */
export class PasskeyExists extends Error {}

export async function createPasskey(
  optionsJSON: PublicKeyCredentialCreationOptionsJSON,
): Promise<RegistrationResponseJSON> {
  return await startRegistration({ optionsJSON }).catch(explain);
}

export interface AskOptions {
  /** Offered in the e-mail field, without a dialog, for as long as the signal lets it. */
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
