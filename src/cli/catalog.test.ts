import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVER_SETTINGS } from '../main/server-settings.ts';
import { catalogExample, catalogSchema, checkCatalogFile } from './catalog.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-check-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a valid file is summarised by endpoint and price', () => {
  const path = join(folder, 'good.yaml');
  writeFileSync(path, catalogExample());
  const { catalog, lines } = checkCatalogFile(path, {}, SERVER_SETTINGS);
  expect(catalog !== undefined).toBe(true);
  expect(lines[0]).toBe(`${path} is valid: endpoints 2, backends 1, aliases 1`);
  expect(lines).toContain('svc_chat (chat_completion) via house');
  expect(lines).toContain('  house-guide  0.10 in, 0.10 cached, 0.40 out (USD per million tokens)');
});

test('every mistake in an invalid file is reported with file, line and key', () => {
  const path = join(folder, 'bad.yaml');
  writeFileSync(
    path,
    catalogExample().replace('output: 0.40', 'output: -1').replace('kind: house', 'kind: hosue'),
  );
  const { catalog, lines } = checkCatalogFile(path, {}, SERVER_SETTINGS);
  expect(catalog !== undefined).toBe(false);
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(
    /bad\.yaml:\d+:\d+ upstreams\.house\.kind: did you mean house\? It must be one of/,
  );
  expect(lines[1]).toMatch(/bad\.yaml:\d+:\d+ lists\.house_models\[0\]\.output: must not be negative$/);
  expect(lines[2]).toBe('2 mistakes');
});

test('a missing file is reported', () => {
  const { catalog, lines } = checkCatalogFile(join(folder, 'none.yaml'), {}, SERVER_SETTINGS);
  expect(catalog !== undefined).toBe(false);
  expect(lines[0]).toMatch(/Cannot read .*none\.yaml/);
});

test('the schema is JSON', () => {
  expect(JSON.parse(catalogSchema(SERVER_SETTINGS))).toMatchObject({
    title: 'Tollgate catalog',
    type: 'object',
  });
});
