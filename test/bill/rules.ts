/**
 * The rules that the code under test follows. A class or model that needs another one is not run, and docs/bill.md names it;
 * `BILL_RULES=R2,R3` tries more.
 */
export const RULES = {
  R2: 'own counts by a real tokenizer',
  R3: 'a client that leaves, with on_disconnect',
  R4: 'a hold that is a true bound',
  R5: 'attachments with a declared bound',
  R6: 'only priced fields pass',
  R7: 'price dimensions',
  R8: 'cost beside charge',
} as const;
export type Rule = keyof typeof RULES;

const FOLLOWED = new Set<string>([
  'R2',
  'R3',
  'R4',
  'R6',
  'R7',
  'R8',
  ...(process.env['BILL_RULES'] ?? '').split(','),
]);

export function isFollowed({ needs = [] }: { readonly needs?: readonly Rule[] | undefined }): boolean {
  return needs.every((rule) => FOLLOWED.has(rule));
}
