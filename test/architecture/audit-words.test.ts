import { expect, test } from 'bun:test';
import { deOperator } from '../../web/locales/de/operator.ts';
import { enOperator } from '../../web/locales/en/operator.ts';
import { actionText } from '../../web/pages/admin/audit/action.ts';
import { isTest, sourcesIn, SRC } from './source-graph.ts';

test('every action of the audit log is a sentence in every language', async () => {
  const actions = new Set<string>();
  for (const { file, text } of await sourcesIn(SRC)) {
    if (isTest(file)) continue;
    for (const [, action = ''] of text.matchAll(
      /\b(?:audit: |action: |onAccount\()'([a-z-]+(?:\.[a-z-]+)+)'/g,
    ))
      actions.add(action);
  }
  expect(actions.size).toBeGreaterThan(25);
  for (const { audit } of [enOperator, deOperator]) {
    for (const action of actions) expect(actionText(action, audit.actions).text).not.toContain(action);
  }
});

test('an action that was refused says so, and one that is not known is shown as it is', () => {
  expect(actionText('account.credit.refused', enOperator.audit.actions)).toEqual({
    text: 'Credit an account',
    outcome: 'refused',
  });
  expect(actionText('backend.pause', enOperator.audit.actions, { paused: false }).text).toBe(
    'Resume a backend',
  );
  expect(actionText('newer.thing', enOperator.audit.actions)).toEqual({
    text: 'newer.thing',
    outcome: undefined,
  });
});
