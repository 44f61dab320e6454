import { redactMessage as scrubWords } from '../response.ts';

/** A backend's message without the configured secrets and the operator's resource names. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) clean = clean.replaceAll(secret, HIDDEN);
  }
  return scrubWords(clean.replace(/\barn:[^\s"',)]+/g, HIDDEN).replace(/\b[A-Za-z0-9_-]{40,}\b/g, HIDDEN));
}

const HIDDEN = '‹removed›';
/** Shorter values are settings like `eu`, and removing them would damage ordinary words. */
const MIN_SECRET_LENGTH = 6;
