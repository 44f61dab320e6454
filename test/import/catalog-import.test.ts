import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCatalog } from '../../src/catalog/parse.ts';
import { readConfig } from '../../src/main/config.ts';
import { closeServices, openServices } from '../../src/main/services.ts';
import { SERVER_SETTINGS } from '../../src/main/server-settings.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';
import { runCommand, type CommandRun } from './command.ts';
import { bareModel, ListingServer } from './listing-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-import-'));
const path = join(folder, 'tollgate.yaml');
const openai = new ListingServer([]);
const env = { OPENAI_API_KEY: openai.key };

afterAll(async () => {
  await openai.stop();
  rmSync(folder, { recursive: true, force: true });
});

const FILE = `# our shop
upstreams:
  openai: { kind: openai, preset: openai, base_url: "${openai.baseUrl}" } # the only one
lists:
  # what we sell
  own:
    - { model: gpt-4o-mini, input: 0.15, output: 0.60 } # dear to us
    - { model: gpt-old, input: 1.10, output: 2.000000001 }
endpoints:
  shop: { name: Shop, type: chat_completion, lists: [own], upstreams: [openai] }
`;

beforeEach(() => {
  writeFileSync(path, FILE);
  openai.instead = undefined;
  openai.models = ['gpt-5-mini', 'gpt-4o-mini', 'text-embedding-3-small', 'whisper-1', 'gpt-unheard-of'].map(
    bareModel,
  );
});

function run(...words: string[]): Promise<CommandRun> {
  return runCommand(['catalog', 'import', ...words], { env, path });
}

async function json(...words: string[]) {
  const { lines } = await run(...words, '--json');
  return JSON.parse(lines.join('\n'));
}

const read = (text: string) => parseCatalog(text, { fileName: 'f', env, settings: SERVER_SETTINGS });

describe('an import', () => {
  test('shows what is new, what costs something else, what is gone and what has no price', async () => {
    const { imports, failures, written } = await json('openai', '--markup', '1.2');
    expect({ failures, written }).toEqual({ failures: [], written: false });
    expect(imports).toHaveLength(1);
    expect(imports[0]).toMatchObject({
      upstream: 'openai',
      markup: '1.2',
      new: [
        {
          model: 'gpt-5-mini',
          type: 'chat_completion',
          price: { input: '0.30', cached_input: '0.03', output: '2.40' },
          cost: { input: '0.25', cached_input: '0.025', output: '2.00' },
          context: 400_000,
          max_output: 128_000,
          abilities: ['vision', 'tools', 'hidden reasoning'],
        },
        {
          model: 'text-embedding-3-small',
          type: 'embedding',
          price: { input: '0.024', output: '0.00' },
        },
      ],
      changed: [
        {
          model: 'gpt-4o-mini',
          list: 'own',
          before: { input: '0.15', output: '0.60' },
          after: { input: '0.18', output: '0.72' },
        },
      ],
      gone: ['gpt-old'],
      skipped: [
        { model: 'whisper-1', reason: expect.stringContaining('neither text, embeddings nor images') },
        { model: 'gpt-unheard-of', reason: expect.stringContaining('no price') },
      ],
    });
  });

  test('writes nothing without a yes, at a terminal or not, and prints what to paste', async () => {
    const plain = await run('openai');
    const refused = await runCommand(['catalog', 'import', 'openai'], { env, path, answer: false });
    expect(readFileSync(path, 'utf8')).toBe(FILE);
    for (const { code, lines } of [plain, refused]) {
      expect(code).toBe(0);
      expect(lines.join('\n')).toContain('model: gpt-5-mini');
      expect(lines.at(-1)).toContain('Nothing was written');
    }
  });

  test.each([['--yes'], []])('writes what it showed after a yes (%s)', async (...flags) => {
    chmodSync(path, 0o640);
    const { code, lines } = await runCommand(['catalog', 'import', 'openai', '--markup', '1.2', ...flags], {
      env,
      path,
      ...(flags.length === 0 ? { answer: true } : {}),
    });
    expect({ code, last: lines.at(-1) }).toEqual({ code: 0, last: `Written to ${path}.` });
    const text = readFileSync(path, 'utf8');
    for (const kept of [
      '# our shop',
      '# the only one',
      '# what we sell',
      '# dear to us',
      'output: 2.000000001',
      'input: 1.10',
    ])
      expect(text).toContain(kept);
    expect(statSync(path).mode & 0o777).toBe(0o640);
    const { endpoints } = read(text);
    const models = [...endpoints.values()].flatMap(({ code: at, models: sold }) =>
      sold.map(({ id }) => `${at}/${id}`),
    );
    expect(models).toEqual([
      'shop/gpt-4o-mini',
      'shop/gpt-old',
      'shop/gpt-5-mini',
      'openai_embeddings/text-embedding-3-small',
    ]);
    const mini = endpoints.get('shop')!.models.find(({ id }) => id === 'gpt-5-mini')!;
    expect(mini.price).toMatchObject({ input: 300_000_000, cachedInput: 30_000_000, output: 2_400_000_000 });
    expect(mini.costs.get('openai')).toMatchObject({ input: 250_000_000, output: 2_000_000_000 });
    expect([mini.hidesReasoning, mini.maxOutput, mini.vision]).toEqual([true, 128_000, true]);
    const again = await json('openai', '--markup', '1.2');
    expect(again.imports[0]).toMatchObject({ new: [], changed: [], same: 3 });
  });

  test('leaves prices alone where no markup says what they should be', async () => {
    const { imports } = await json('openai', '--yes');
    expect(imports[0].changed).toEqual([]);
    expect(imports[0].differing).toMatchObject([{ model: 'gpt-4o-mini' }]);
    expect(readFileSync(path, 'utf8')).toContain('{ model: gpt-4o-mini, input: 0.15, output: 0.60 }');
  });

  test('takes the markup of the upstream, and the one of the command before it', async () => {
    writeFileSync(path, FILE.replace('preset: openai,', 'preset: openai, markup: 1.5,'));
    const priced = async (...words: string[]) =>
      (await json('openai', ...words)).imports[0].new[0].price.input;
    expect(await priced()).toBe('0.375');
    expect(await priced('--markup', '3')).toBe('0.75');
  });

  test('takes the models that were named, and no others', async () => {
    const { imports } = await json('openai', '--models', 'gpt-5*,text-*-small', '--markup', '2');
    expect(imports[0].new.map(({ model }: { model: string }) => model)).toEqual([
      'gpt-5-mini',
      'text-embedding-3-small',
    ]);
    expect([imports[0].changed, imports[0].gone, imports[0].skipped]).toEqual([[], [], []]);
  });

  test('makes an upstream of a preset that the catalog does not have', async () => {
    writeFileSync(path, 'upstreams: { house: { kind: house } }\nlists: {}\nendpoints: {}\n');
    const missing = await runCommand(['catalog', 'import', 'groq'], { env: {}, path });
    expect(missing.code).toBe(1);
    expect(missing.lines.join('\n')).toContain('GROQ_API_KEY');
  });

  test('asks every upstream that lists models when none is named', async () => {
    const { imports } = await json();
    expect(imports.map(({ upstream }: { upstream: string }) => upstream)).toEqual(['openai']);
  });
});

describe('an import that cannot be made', () => {
  test('says why, with 1, and never shows a key', async () => {
    const wrong = await runCommand(['catalog', 'import', 'openai'], {
      env: { OPENAI_API_KEY: 'sk-wrong' },
      path,
    });
    expect(wrong.code).toBe(1);
    expect(wrong.lines.join('\n')).toContain('status 401');
    expect(wrong.lines.join('\n')).not.toContain(openai.key);
    openai.instead = () => new Response(null, { status: 302, headers: { location: openai.baseUrl } });
    openai.asked.length = 0;
    const redirected = await run('openai');
    expect({ code: redirected.code, asked: openai.asked }).toEqual({ code: 1, asked: ['/v1/models'] });
    openai.instead = () => new Response('<html>');
    expect((await run('openai')).lines.join('\n')).toContain('not JSON');
    expect((await run('nobody')).lines.join('\n')).toContain("no upstream 'nobody'");
  });

  test.each([
    ['--markup', '0'],
    ['--markup', '1.2345678'],
    ['--markup', '-1'],
    ['--models', ','],
  ])('is refused with 2 for a bad %s %s', async (flag, value) => {
    expect((await run('openai', flag, value)).code).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe(FILE);
  });

  test('does not overwrite a file that was changed meanwhile', async () => {
    openai.instead = () => {
      writeFileSync(path, `${FILE}# edited\n`);
      return Response.json({ data: [bareModel('gpt-5-mini')] });
    };
    const { code, lines } = await run('openai', '--yes');
    expect(code).toBe(1);
    expect(lines.at(-1)).toContain('changed meanwhile');
    expect(readFileSync(path, 'utf8')).toEndWith('# edited\n');
  });
});

test('a stored catalog gets a new version and a line in the audit log', async () => {
  const data = join(folder, 'data');
  const services = await openServices(
    readConfig({
      TOLLGATE_DATA: data,
      TOLLGATE_CONFIG: '',
      OPENAI_API_KEY: openai.key,
      TOLLGATE_CATALOG_ENV: `OPENAI_API_KEY=${openai.baseUrl}`,
    }),
    silentLog,
    systemClock,
  );
  try {
    const { config } = services;
    const stored = { ...services, config: { ...config, catalogPath: undefined } };
    const { openStored } = await import('../../src/main/services.ts');
    const catalog = await openStored(stored);
    await catalog.save(FILE, 'test', '', 0);
    catalog.close();
    const shownOnly = await runCommand(['catalog', 'import', 'openai'], { env, services: stored });
    expect(shownOnly.lines.at(-1)).toContain('Nothing was written');
    const { code } = await runCommand(['catalog', 'import', 'openai', '--yes'], { env, services: stored });
    expect(code).toBe(0);
    const after = await openStored(stored);
    expect(after.newest().yaml).toContain('gpt-5-mini');
    expect((await after.history())[0]).toMatchObject({ actor: 'cli', note: 'Models of openai' });
    after.close();
    const entries = await services.store.db.selectFrom('audit').select(['actor', 'action']).execute();
    expect(entries).toEqual([{ actor: 'cli', action: 'catalog.import' }]);
  } finally {
    await closeServices(services);
  }
});

describe('a check of the catalog', () => {
  test('tells which prices and costs are not those of the list, and asks nobody', async () => {
    const costs = 'cost: { openai: { input: 0.25, cached_input: 0.025, output: 2.50 } }';
    writeFileSync(
      path,
      FILE.replace(
        '- { model: gpt-old,',
        `- { model: gpt-5-mini, input: 1, output: 9, ${costs} }\n    - { model: gpt-old,`,
      ),
    );
    openai.asked.length = 0;
    for (const words of [
      ['catalog', 'check', path],
      ['catalog', 'check'],
    ]) {
      const { code, lines } = await runCommand(words, { env, path });
      expect(code).toBe(0);
      const different = lines.slice(lines.findIndex((line) => line.startsWith('other than in the list')) + 1);
      expect(different).toHaveLength(2);
      expect(different[0]).toContain('gpt-4o-mini is sold at 0.15 in');
      expect(different[1]).toContain('gpt-5-mini costs 0.25 in, 0.025 cached, 2.50 out');
      expect(different[1]).toContain('the list says 0.25 in, 0.025 cached, 2.00 out');
    }
    expect(openai.asked).toEqual([]);
    expect(readFileSync(path, 'utf8')).toContain('output: 2.50');
  });
});
