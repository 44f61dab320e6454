import { expect, test } from 'bun:test';
import { operatorAnswers } from './operator-answers.ts';

test("the operators' document says of every answer what its type says (else run: bun scripts/write-operator-answers.ts)", async () => {
  const written: unknown = await Bun.file(`${import.meta.dir}/../../schema/operator-answers.json`).json();
  // JSON has no order of fields.
  expect(written).toEqual(await operatorAnswers());
}, 60_000);
