import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { CONFIGURATION_PAGE, configurationPage } from '../../scripts/write-configuration.ts';
import { isTest, isTesting, sourcesIn, SRC } from '../../test/architecture/source-graph.ts';
import { readConfig } from './config.ts';
import { effectiveConfiguration } from './configuration.ts';
import { CUSTOMER_TOKEN, ENVIRONMENT, unknownVariables } from './environment.ts';

const NO_FILE = { file: '/etc/tollgate.env', fromFile: new Set<string>() };

function settingOf(name: string, env: Record<string, string>, file: Record<string, unknown> = {}) {
  const values = { from: 'tollgate.yaml', values: new Map(Object.entries(file)) };
  return effectiveConfiguration({ env, ...NO_FILE }, values).settings.find(
    (setting) => setting.name === name,
  );
}

describe('the effective configuration', () => {
  test('names the origin of each value', () => {
    expect(settingOf('TOLLGATE_PORT', {})).toEqual({ name: 'TOLLGATE_PORT', value: 8700, source: 'default' });
    expect(settingOf('TOLLGATE_PORT', { TOLLGATE_PORT: '80' })).toMatchObject({
      value: 80,
      source: 'environment',
    });
    expect(settingOf('TOLLGATE_PORT', { TOLLGATE_PORT: ' ' })).toMatchObject({
      value: 8700,
      source: 'default',
    });
    // What the file does not say is as the environment says.
    expect(settingOf('log.level', {})).toMatchObject({ value: null, source: 'default' });
    expect(settingOf('TOLLGATE_LOG_LEVEL', {})).toMatchObject({ value: 'info', source: 'default' });
    expect(settingOf('log.level', {}, { log: { level: 'warn' } })).toMatchObject({
      value: 'warn',
      source: 'tollgate.yaml',
    });
    expect(settingOf('tls', {}, { tls: 'self-signed' })).toMatchObject({ value: 'self-signed' });
  });

  test('never shows a secret, whatever setting holds it', () => {
    const env = Object.fromEntries(
      Object.entries(ENVIRONMENT)
        .filter(([, setting]) => 'secret' in setting)
        .map(([name]) => [name, `hunter2-of-${name}`]),
    );
    const all = JSON.stringify(effectiveConfiguration({ env, ...NO_FILE }, undefined));
    expect(Object.keys(env).length).toBeGreaterThan(4);
    expect(all).not.toContain('hunter2');
    const database = settingOf('DATABASE_URL', {
      DATABASE_URL: 'postgres://me:hunter2@db.example:5433/books?password=hunter2',
    });
    expect(database?.value).toBe('postgres://me@db.example:5433/books');
  });
});

describe('the schema of the environment', () => {
  test('holds every variable that the program names', async () => {
    const named = new Set<string>();
    for (const { file, text } of await sourcesIn(SRC)) {
      if (isTest(file) || isTesting(file)) continue;
      for (const [name] of text.matchAll(/\bTOLLGATE_[A-Z_]*[A-Z]\b/g)) named.add(name);
    }
    expect(named.size).toBeGreaterThan(20);
    named.delete(CUSTOMER_TOKEN);
    expect([...named].filter((name) => !Object.hasOwn(ENVIRONMENT, name))).toEqual([]);
  });

  test('every whole number is bounded, and refused beyond its bounds', () => {
    for (const [name, setting] of Object.entries(ENVIRONMENT)) {
      if (!('range' in setting)) continue;
      for (const wrong of [setting.range[0] - 1, setting.range[1] + 1, 1.5, 'x'])
        expect(() => readConfig({ DATABASE_URL: 'postgres://h/d', [name]: String(wrong) })).toThrow(
          `${name} must be a whole number from ${setting.range[0]} to ${setting.range[1]}`,
        );
    }
  });

  test('is the reference page (else run: bun scripts/write-configuration.ts)', () => {
    expect(readFileSync(CONFIGURATION_PAGE, 'utf8')).toBe(configurationPage());
  });

  test('a mistyped variable is found, with the one that was meant; that of the examples is no mistake', () => {
    expect(
      unknownVariables({
        TOLLGATE_PRT: '1',
        TOLLGATE_COFFEE: '1',
        PATH: '',
        TOLLGATE_PORT: '1',
        TOLLGATE_TOKEN: 'sk-1',
      }),
    ).toEqual([
      { name: 'TOLLGATE_PRT', meant: 'TOLLGATE_PORT' },
      { name: 'TOLLGATE_COFFEE', meant: undefined },
    ]);
  });

  test.each(['gate.example', 'ftp://gate.example', 'https://gate.example/path', 'https://a:b@gate.example'])(
    'the public address cannot be %s',
    (text) => {
      expect(() => readConfig({ TOLLGATE_PUBLIC_URL: text })).toThrow(
        'TOLLGATE_PUBLIC_URL must be an address',
      );
      expect(readConfig({ TOLLGATE_PUBLIC_URL: 'https://gate.example/' }).publicUrl).toBe(
        'https://gate.example',
      );
    },
  );
});
