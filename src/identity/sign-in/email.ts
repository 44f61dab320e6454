import { z } from 'zod';
import { AuthRefusal } from './refusal.ts';

const MAX_LENGTH = 254;
const emailSchema = z.email().max(MAX_LENGTH);

/**
 * The canonical spelling of an address, made before anything is checked or looked up: a full-width "＠" or "ｅ" becomes the
 * plain one first, so that it can neither bypass the check nor create a second account that looks the same.
 */
export function normalEmail(text: string): string {
  const email = text.normalize('NFKC').trim().toLowerCase();
  if (text.length > 2 * MAX_LENGTH || !emailSchema.safeParse(email).success) {
    throw new AuthRefusal('invalid_field', 'This is not an e-mail address.', { param: 'email' });
  }
  return email;
}
