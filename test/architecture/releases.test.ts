import { expect, test } from 'bun:test';
import { version } from '../../package.json' with { type: 'json' };
import changelog from '../../CHANGELOG.md' with { type: 'text' };
import page from '../../docs/releases.md' with { type: 'text' };
import { MIGRATIONS } from '../../src/store/migrations/index.ts';

test('the page about releases lists every step of the schema, and who works beside it', () => {
  const rows = page.split('\n').flatMap((line) => {
    const [, number, name, , , compatibleFrom] = line.split('|').map((cell) => cell.trim());
    return /^\d+$/.test(number ?? '') ? [`${number} ${name} from ${compatibleFrom}`] : [];
  });
  expect(rows).toEqual(
    MIGRATIONS.map(({ number, name, compatibleFrom }) => `${number} ${name} from ${compatibleFrom}`),
  );
});

test('the version has a part in the list of changes', () => {
  expect(changelog).toContain(`\n## [${version}]`);
});
