import type { TFunction } from 'i18next';

const KNOWN = [
  'authentication_required',
  'card_declined',
  'dispute',
  'expired',
  'expired_card',
  'insufficient_funds',
  'no_answer',
  'no_card',
  'provider_unavailable',
  'refund',
] as const;

/** The provider's word for a failure, in the reader's language where it is a common one. */
export function reasonText(word: string, t: TFunction): string {
  const known = KNOWN.find((one) => one === word);
  return known ? t(`payments.reasons.${known}`) : t('payments.reasons.other', { word });
}
