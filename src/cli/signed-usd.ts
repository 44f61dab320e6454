/** Nano-USD as dollars. Signed, unlike an amount of money. */
export function signedUsd(nano: number): string {
  const [whole = '0', fraction = ''] = (Math.abs(nano) / 1_000_000_000).toFixed(9).split('.');
  return `${nano < 0 ? '-' : ''}${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`;
}
