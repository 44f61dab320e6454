import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvoiceBackend } from '../backend/backend.ts';
import { judge, type Case, type Finding } from '../case.ts';
import { CASES } from '../cases/all.ts';
import type { Gateway } from '../gateway.ts';
import { startWrongGateway } from './adapter.ts';
import { FAULTS, type Fault } from './faults.ts';

const TEST_MS = 120_000;
const names = Object.keys(FAULTS) as Fault[];
const folder = mkdtempSync(join(tmpdir(), 'conformance-test-'));
let current: readonly Fault[] = [];
let backend: InvoiceBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = await InvoiceBackend.start();
  gateway = await startWrongGateway({ backend, folder }, () => current);
}, TEST_MS);

afterAll(async () => {
  await gateway.stop();
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Each fault at its case: those that leave the gateway alone at once, the others in turn. */
async function judgeAll(plan: readonly { readonly case: Case; readonly fault?: Fault }[]) {
  const one = (step: { readonly case: Case; readonly fault?: Fault }): Promise<Finding> => {
    current = step.fault === undefined ? [] : [step.fault];
    // A case opens its account before it waits for anything, so the fault is this one's.
    return judge(step.case, gateway, backend);
  };
  const found = await Promise.all(plan.filter((step) => !step.case.isAlone).map(one));
  for (const step of plan.filter((step) => step.case.isAlone)) found.push(await one(step));
  return found.map(({ case: { id }, verdict, figure }) => ({ id, verdict, figure }));
}

describe('a gateway that', () => {
  test(
    'is right holds every bound',
    async () => {
      const found = await judgeAll(CASES.map((one) => ({ case: one })));
      expect(found.filter(({ verdict }) => verdict !== 'holds')).toEqual([]);
    },
    TEST_MS,
  );

  test(
    'has one fault fails the case that is about it, and every case has a fault that it notices',
    async () => {
      const noticed: Set<string> = new Set(Object.values(FAULTS));
      expect(CASES.map(({ id }) => id).filter((id) => !noticed.has(id))).toEqual([]);
      const plan = names.flatMap((fault) =>
        CASES.filter(({ id }) => id === FAULTS[fault]).map((one) => ({ case: one, fault })),
      );
      const found = await judgeAll(plan);
      expect(found.length).toBe(names.length);
      expect(found.filter(({ verdict }) => verdict !== 'fails')).toEqual([]);
    },
    TEST_MS,
  );
});
