import { expect, test } from 'bun:test';
import { isTest, sourcesIn, SRC } from './source-graph.ts';

test('every log event is named in snake_case, so that operators can filter by it', async () => {
  const events: { file: string; event: string }[] = [];
  for (const { file, text } of await sourcesIn(SRC)) {
    if (isTest(file)) continue;
    // `\s*` spans lines: the formatter puts a long event on a line of its own.
    for (const [, , event = ''] of text.matchAll(/\blog\??\.(?:info|warn|error)\(\s*(['"`])(.*?)\1/gi))
      events.push({ file, event });
  }
  expect(events.length).toBeGreaterThan(25);
  expect(events.filter(({ event }) => !/^[a-z]+(_[a-z]+)*$/.test(event))).toEqual([]);
});
