import { expect, test } from 'bun:test';
import type { ModelItem } from '../../lib/answers.ts';
import { alternativesTo } from './alternatives.ts';
import {
  decodeText,
  fileText,
  MAX_BINARY_BYTES,
  MAX_TEXT_BYTES,
  readAttachment,
  type AttachedFile,
} from './attachments.ts';
import { bodyWith } from './conversation.ts';
import { keptTurn, parseChat, titleOf } from './keptChats.ts';
import { EMPTY_DRAFT, recipeOf } from './recipe.ts';

const file = (content: BlobPart, name: string, type = ''): File => new File([content], name, { type });
const recipe = recipeOf(EMPTY_DRAFT, { endpoint: 'svc_chat', model: 'house-echo' } as ModelItem);

test('whatever reads as text is attached as text, with its name, whatever its type', async () => {
  const text = 'a;b\nGrüße 🚪;1\n';
  for (const [name, type] of [
    ['list.csv', 'text/csv'],
    ['notes.md', ''],
    ['main.rs', ''],
    ['data.json', 'application/json'],
    ['script.ts', 'video/mp2t'],
  ] as const)
    expect(await readAttachment(file(text, name, type))).toEqual({ kind: 'text', name, text });
  expect(await readAttachment(file('', 'empty.txt'))).toEqual({ kind: 'text', name: 'empty.txt', text: '' });
});

test('texts with and without a mark of their encoding are read, and other bytes are no text', () => {
  const bytes = (...values: number[]): ArrayBuffer => new Uint8Array(values).buffer;
  expect(decodeText(bytes(0xef, 0xbb, 0xbf, 0x61))).toBe('a');
  expect(decodeText(bytes(0xff, 0xfe, 0x61, 0x00, 0xfc, 0x00))).toBe('aü');
  expect(decodeText(bytes(0xfe, 0xff, 0x00, 0x61))).toBe('a');
  expect(decodeText(bytes(0x61, 0x00))).toBeUndefined();
  expect(decodeText(bytes(0xfc, 0x61))).toBeUndefined();
});

test('a file that is too large or none of these is told apart by its reason', async () => {
  const reasons = [
    file(new Uint8Array([0, 1, 2]), 'a.bin'),
    file('x'.repeat(MAX_TEXT_BYTES + 1), 'long.txt'),
    file('x'.repeat(MAX_TEXT_BYTES + 1), 'video.mp4', 'video/mp4'),
    file(new Uint8Array(MAX_BINARY_BYTES + 1), 'large.png', 'image/png'),
    file(`%PDF-${'x'.repeat(MAX_BINARY_BYTES)}`, 'large.pdf'),
  ];
  expect(await Promise.all(reasons.map(readAttachment))).toEqual([
    'notText',
    'textTooLarge',
    'notText',
    'binaryTooLarge',
    'binaryTooLarge',
  ]);
  expect(await readAttachment(file('x'.repeat(MAX_TEXT_BYTES), 'just.txt'))).toMatchObject({ kind: 'text' });
});

test('the fence around a text is longer than any in it', () => {
  expect(fileText({ name: 'a.md', text: 'a' })).toBe('File "a.md":\n```\na\n```');
  expect(fileText({ name: 'a "b".md', text: '````js\n' })).toBe('File "a \\"b\\".md":\n`````\n````js\n`````');
});

test('texts become part of the message, a PDF goes as a file beside it', () => {
  const files: AttachedFile[] = [
    { kind: 'text', name: 'a.txt', text: 'one' },
    { kind: 'pdf', name: 'b.pdf', url: 'data:application/pdf;base64,JVBERi0=' },
  ];
  const content = (text: string, attached: AttachedFile[], images: string[] = []) =>
    bodyWith(recipe, [], text, { images, files: attached }).messages[0]?.content;
  expect(content('Sum up.', files.slice(0, 1))).toBe('Sum up.\n\nFile "a.txt":\n```\none\n```');
  expect(content('Sum up.', files)).toEqual([
    { type: 'text', text: 'Sum up.\n\nFile "a.txt":\n```\none\n```' },
    { type: 'file', file: { filename: 'b.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
  ]);
  expect(content('', [], ['data:image/png;base64,'])).toEqual([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,' } },
  ]);
});

test('texts are kept with a chat, images and PDF files are not', () => {
  const turn = keptTurn({
    id: 1,
    role: 'user',
    text: '',
    images: ['data:image/png;base64,AAAA'],
    files: [
      { kind: 'text', name: 'a.txt', text: 'one' },
      { kind: 'pdf', name: 'b.pdf', url: 'data:application/pdf;base64,AAAA' },
    ],
    reasoning: '',
    status: 'done',
    model: '',
  });
  expect(JSON.stringify(turn)).not.toContain('AAAA');
  expect(turn.files).toEqual([{ kind: 'text', name: 'a.txt', text: 'one' }]);
  expect(titleOf([turn])).toBe('a.txt');
  const chat = { id: 'a', title: '', at: 1, choice: '', system: '', turns: [turn] };
  expect(parseChat(chat)).toEqual(chat);
  expect(
    parseChat({ ...chat, turns: [{ ...turn, files: [{ name: 1 }, 2] }] })?.turns[0]?.files,
  ).toBeUndefined();
});

test('a failed answer to a PDF is offered to models that take files', () => {
  const model = (name: string, files: boolean) =>
    ({
      endpoint: 'e',
      model: name,
      displayName: name,
      type: 'chat_completion',
      unavailable: null,
      files,
    }) as ModelItem;
  const models = [model('a', true), model('b', false), model('c', true)];
  const pdf: AttachedFile = { kind: 'pdf', name: 'b.pdf', url: '' };
  const names = (files: AttachedFile[]) =>
    alternativesTo(model('a', true), models, [{ images: [], files }]).map((one) => one.model);
  expect(names([pdf])).toEqual(['c']);
  expect(names([])).toEqual(['b', 'c']);
});
