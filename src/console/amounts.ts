import { formatUsd, nanoUsd, parseUsd, type NanoUsd } from '../std/money.ts';
import { Fault } from '../std/fault.ts';
import type { Day, Usd } from './contract.ts';

/** Nano-dollars of either sign as the contract's decimal text. */
export function usd(amount: number): Usd {
  return amount < 0 ? `-${formatUsd(nanoUsd(-amount))}` : formatUsd(nanoUsd(amount));
}

/** A sum too large for a number, as the database's text. */
export function usdOfText(amount: string): Usd {
  const digits = BigInt(amount).toString().padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0{1,7}$/, '');
  return `${digits.slice(0, -9)}.${decimals}`;
}

export function readUsd(text: string, param: string): NanoUsd {
  const amount = parseUsd(text);
  if (amount === undefined) throw new Fault('invalid_field', 'An amount looks like 12.50.', { param });
  return amount;
}

/** 20261130 → 2026-11-30 */
export function dayText(day: number): Day {
  const text = String(day);
  return `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`;
}
