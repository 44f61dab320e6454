import type { MailData } from '../mail-data.ts';

const PUBLIC_URL = 'https://gate.example.com';

/** One of every kind of email. */
export const MAIL_SAMPLES: MailData = {
  'address.verify': { link: `${PUBLIC_URL}/verify#t`, hours: 24 },
  'password.reset': { link: `${PUBLIC_URL}/reset-password#t`, minutes: 30 },
  'balance.low': { balance: '$1.50', threshold: '$5.00' },
  'limit.reached': { limit: '$20.00' },
  'budget.low': { amount: '$5.00', per: 'day', used: '$4.10', resetsAt: 86_400_000 },
  'budget.reached': { amount: '$5.00', per: 'total', used: '$4.90' },
  'token.expiring': { hint: 'sk-…a1b2', expiresAt: 86_400_000 },
  'price.changes': {
    from: 86_400_000,
    isCancelled: false,
    models: [
      {
        model: 'svc_chat/gpt-5',
        name: 'GPT-5',
        change: 'changed',
        prices: [
          {
            dimension: 'input',
            per: 1_000_000,
            above_input_tokens: null,
            quality: null,
            before_usd: '1.25',
            after_usd: '1.50',
          },
        ],
      },
      {
        model: 'svc_chat/gpt-5-mini',
        name: 'GPT-5 mini',
        change: 'changed',
        prices: [],
        service_tiers: [
          { tier: 'flex', before: 0.5, after: 0.6 },
          { tier: 'priority', before: null, after: 2 },
        ],
      },
    ],
    more: 2,
  },
  'sign-in.new-device': { at: 0, address: '203.0.113.9', device: 'Firefox' },
  'payment.receipt': {
    amount: '25.00 EUR',
    credited: '$27.10',
    balance: '$30.00',
    paidAt: 0,
    reference: 'R-1',
  },
  'top-up.done': { amount: '25.00 EUR', credited: '$27.10', balance: '$30.00', paidAt: 0, reference: 'R-2' },
  'top-up.failed': { amount: '25.00 EUR', balance: '$1.00', reason: 'card declined' },
  'top-up.stopped': { isDisputed: true },
  'webhook.paused': { url: 'https://hooks.example/a', reason: 'answered 500' },
  'mail.test': { at: 0 },
};
