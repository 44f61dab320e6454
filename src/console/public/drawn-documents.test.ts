import { expect, test } from 'bun:test';
import { DrawnDocuments, type PublicDocument } from './drawn-documents.ts';

class Drawings {
  now = 0;
  drawn = 0;
  readonly documents: DrawnDocuments;

  constructor(mostCharacters?: number) {
    this.documents = new DrawnDocuments({ now: () => this.now }, mostCharacters);
  }

  async ask(name: string, inputs: readonly unknown[] = [], body = 'text'): Promise<string> {
    const draw = (): Promise<PublicDocument> =>
      Promise.resolve({ body: `${body} ${++this.drawn}`, type: 'text/plain' });
    return (await this.documents.of(name, { inputs, keptMs: 1_000 }, draw)).document.body;
  }
}

test('a document is drawn once for all who ask within its time, also at the same moment', async () => {
  const drawings = new Drawings();
  expect(await Promise.all([drawings.ask('a'), drawings.ask('a')])).toEqual(['text 1', 'text 1']);
  drawings.now = 999;
  expect(await drawings.ask('a')).toBe('text 1');
  expect(await drawings.ask('b')).toBe('text 2');
  drawings.now = 1_000;
  expect(await drawings.ask('a')).toBe('text 3');
});

test('a document is drawn anew as soon as what it is drawn from has changed', async () => {
  const drawings = new Drawings();
  const [before, after] = [{ catalog: 1 }, { catalog: 1 }];
  expect(await drawings.ask('a', [before, 'Shop'])).toBe('text 1');
  expect(await drawings.ask('a', [before, 'Shop'])).toBe('text 1');
  expect(await drawings.ask('a', [after, 'Shop'])).toBe('text 2');
  expect(await drawings.ask('a', [after, 'New shop'])).toBe('text 3');
});

test('a drawing that fails is not kept', async () => {
  const { documents } = new Drawings();
  const from = { inputs: [], keptMs: 1_000 };
  await expect(documents.of('a', from, () => Promise.reject(new Error('no store')))).rejects.toThrow();
  const drawn = await documents.of('a', from, () => Promise.resolve({ body: 'x', type: 'text/plain' }));
  expect(drawn.document.body).toBe('x');
});

test('what is kept is bounded, and the newest stays', async () => {
  const drawings = new Drawings(100_000);
  for (let n = 0; n < 100; n++) {
    await drawings.ask(`page ${n}`, [], 'x'.repeat(1_000));
    expect(drawings.documents.characters).toBeLessThanOrEqual(100_000);
  }
  const before = drawings.drawn;
  await drawings.ask('page 99');
  expect(drawings.drawn).toBe(before);
  await drawings.ask('page 0');
  expect(drawings.drawn).toBe(before + 1);
});
