import type {
  PasskeyAssertion,
  PasskeyCreation,
  PasskeyReference,
  PasskeyRegistration,
  PasskeyRequest,
} from '../../src/console/contract.ts';

/** Why there are no passkeys here: the browser has none, or the address is a number, and a passkey belongs to a name. */
export function passkeysMissing(): 'browser' | 'name' | undefined {
  if (!isSecureContext || !('PublicKeyCredential' in globalThis)) return 'browser';
  return /^[\d.]+$|:/.test(location.hostname.replace(/^\[/, '')) ? 'name' : undefined;
}

/** Whether the browser can offer passkeys in the e-mail field, among what it fills in. */
export async function canOfferInField(): Promise<boolean> {
  if (passkeysMissing()) return false;
  // Older browsers have passkeys and not this.
  const available: (() => Promise<boolean>) | undefined =
    PublicKeyCredential.isConditionalMediationAvailable?.bind(PublicKeyCredential);
  return (await available?.()) ?? false;
}

/** The person closed the browser's dialog, or let it time out. */
export class PasskeyCancelled extends Error {}

/** This device, or this password manager, has a passkey for the account already. */
export class PasskeyExists extends Error {}

export async function createPasskey(options: PasskeyCreation): Promise<PasskeyRegistration> {
  const made = await navigator.credentials
    .create({
      publicKey: {
        ...options,
        challenge: toBytes(options.challenge),
        user: { ...options.user, id: toBytes(options.user.id) },
        excludeCredentials: options.excludeCredentials.map(toDescriptor),
      },
    })
    .catch(explain);
  const response = made instanceof PublicKeyCredential ? made.response : undefined;
  if (!(made instanceof PublicKeyCredential) || !(response instanceof AuthenticatorAttestationResponse))
    throw new PasskeyCancelled();
  return {
    ...identity(made),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      attestationObject: toText(response.attestationObject),
      transports: response.getTransports(),
    },
  };
}

export interface AskOptions {
  /** Offered in the e-mail field, without a dialog, for as long as the signal lets it. */
  readonly inField: boolean;
  readonly signal: AbortSignal;
}

export async function askForPasskey(
  options: PasskeyRequest,
  { inField, signal }: AskOptions,
): Promise<PasskeyAssertion> {
  const given = await navigator.credentials
    .get({
      publicKey: {
        ...options,
        challenge: toBytes(options.challenge),
        allowCredentials: options.allowCredentials.map(toDescriptor),
        userVerification: 'required',
      },
      signal,
      ...(inField ? { mediation: 'conditional' } : {}),
    })
    .catch(explain);
  const response = given instanceof PublicKeyCredential ? given.response : undefined;
  if (!(given instanceof PublicKeyCredential) || !(response instanceof AuthenticatorAssertionResponse))
    throw new PasskeyCancelled();
  return {
    ...identity(given),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      authenticatorData: toText(response.authenticatorData),
      signature: toText(response.signature),
      ...(response.userHandle ? { userHandle: toText(response.userHandle) } : {}),
    },
  };
}

function identity({ id, rawId }: PublicKeyCredential) {
  return { id, rawId: toText(rawId), type: 'public-key', clientExtensionResults: {} } as const;
}

/** Browsers say "not allowed" for a closed dialog and for a time-out alike, so that pages learn nothing from it. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  if (name === 'InvalidStateError') throw new PasskeyExists();
  if (name === 'NotAllowedError' || name === 'AbortError') throw new PasskeyCancelled();
  throw error;
}

function toDescriptor({ id, type, transports }: PasskeyReference): PublicKeyCredentialDescriptor {
  // The browser ignores ways of transport that it does not know.
  const known = transports as AuthenticatorTransport[] | undefined;
  return { id: toBytes(id), type, ...(known ? { transports: known } : {}) };
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
