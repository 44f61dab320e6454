import { describe } from 'bun:test';
import { admissionCases } from './contract-admission.ts';
import { adoptionCases } from './contract-adoption.ts';
import { answerCases } from './contract-answers.ts';
import { archiveCases } from './contract-archive.ts';
import { billCases } from './contract-bills.ts';
import { bookCases } from './contract-books.ts';
import { codeCases } from './contract-codes.ts';
import { expiryCases } from './contract-expiry.ts';
import { checkWith, type MakeHarness } from './contract-harness.ts';
import { limitCases } from './contract-limits.ts';
import { movedMoneyCases } from './contract-moved.ts';
import { priceCases } from './contract-prices.ts';
import { reclaimCases } from './contract-reclaim.ts';
import { rowCases } from './contract-rows.ts';
import { settlementCases } from './contract-settlement.ts';
import { teamCases } from './contract-teams.ts';

/** The promises of the `Ledger` port. Every implementation runs all of them on a real database. */
export function ledgerContract(name: string, makeHarness: MakeHarness): void {
  describe(`${name} keeps the ledger's contract`, () => {
    const check = checkWith(makeHarness);
    admissionCases(check);
    limitCases(check);
    settlementCases(check);
    priceCases(check);
    expiryCases(check);
    adoptionCases(check);
    bookCases(check);
    billCases(check);
    rowCases(check);
    codeCases(check);
    reclaimCases(check);
    answerCases(check);
    archiveCases(check);
    teamCases(check);
    movedMoneyCases(check);
  });
}
