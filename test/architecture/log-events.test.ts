import { expect, test } from 'bun:test';
import { NEVER_LEFT_OUT } from '../../src/std/log.ts';
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

test('every event that is never left out of the log is logged somewhere', async () => {
  const sources = (await sourcesIn(SRC)).filter(({ file }) => !isTest(file) && !file.endsWith('log.ts'));
  const text = sources.map((source) => source.text).join('\n');
  expect(Object.keys(NEVER_LEFT_OUT).filter((event) => !text.includes(`'${event}'`))).toEqual([]);
});
