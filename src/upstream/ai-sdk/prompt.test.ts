import { describe, expect, test } from 'bun:test';
import type { ChatMessage } from '../../wire/openai/chat.ts';
import { UpstreamFailure } from '../port.ts';
import { anthropic, mistral, PROVIDERS } from './providers.ts';
import { toCallOptions } from './call-options.ts';
import { PNG } from './testing/requests.ts';
import { toPrompt } from './prompt.ts';

const say = (content: ChatMessage['content']): ChatMessage[] => [{ role: 'user', content }];

describe('what the user sends', () => {
  test('audio and files are sent inline with their types', () => {
    const prompt = toPrompt(
      say([
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } },
      ]),
      anthropic,
    );
    expect(prompt[0]?.content).toEqual([
      { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: 'UklGRg==' } },
      { type: 'file', mediaType: 'audio/mpeg', data: { type: 'data', data: 'SUQz' } },
      {
        type: 'file',
        mediaType: 'application/pdf',
        data: { type: 'data', data: 'JVBERi0=' },
        filename: 'a.pdf',
      },
    ]);
  });

  test('an image URL is sent to backends that fetch it themselves, and Tollgate fetches nothing', () => {
    for (const provider of Object.values(PROVIDERS)) {
      const messages = say([{ type: 'image_url', image_url: { url: 'https://example.com/a.png?x=1' } }]);
      if (!provider.imageUrls) {
        expect(() => toPrompt(messages, provider)).toThrow('data: URL');
        continue;
      }
      expect(toPrompt(messages, provider)[0]?.content).toMatchObject([
        {
          type: 'file',
          mediaType: 'image/png',
          data: { type: 'url', url: new URL('https://example.com/a.png?x=1') },
        },
      ]);
    }
  });

  test.each([
    'file:///etc/passwd',
    's3://bucket/key',
    'gs://bucket/key',
    'javascript:1',
    'http://',
    'data:image/png,raw',
    '//x/y',
  ])('the address %s is refused', (url) => {
    expect(() => toPrompt(say([{ type: 'image_url', image_url: { url } }]), anthropic)).toThrow(
      UpstreamFailure,
    );
  });
});

describe('tools', () => {
  test('results of parallel calls share a turn and name their tool', () => {
    const messages: ChatMessage[] = [
      {
        role: 'assistant',
        content: 'Looking.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'one', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'two', arguments: ' ' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'first' },
      {
        role: 'tool',
        tool_call_id: 'b',
        content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }],
      },
    ];
    const prompt = toPrompt(messages, mistral);
    expect(prompt.map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(prompt[1]?.content).toMatchObject([
      { toolCallId: 'a', toolName: 'one', output: { type: 'text', value: 'first' } },
      {
        toolCallId: 'b',
        toolName: 'two',
        output: { type: 'content', value: [{ type: 'file', mediaType: 'image/png' }] },
      },
    ]);
  });

  test('arguments that are not a JSON object are refused with an explanation', () => {
    const call = { id: 'a', type: 'function', function: { name: 'one', arguments: '[1' } };
    expect(() => toPrompt([{ role: 'assistant', content: null, tool_calls: [call] }], mistral)).toThrow(
      'not a JSON object',
    );
  });
});

test('an empty turn of the assistant, which backends refuse, is left out', () => {
  expect(toPrompt([{ role: 'assistant', content: '' }], mistral)).toEqual([]);
});

test('cache marks stay with their message, part and tool, and are dropped where unsupported', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const request = {
    model: 'any',
    messages: [
      {
        role: 'system' as const,
        content: [
          { type: 'text' as const, text: 'a' },
          { type: 'text' as const, text: 'b', cache_control },
        ],
      },
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'c', cache_control }] },
    ],
    tools: [{ type: 'function', function: { name: 'one' }, cache_control }],
  };
  const marked = { anthropic: { cacheControl: cache_control } };
  expect(toCallOptions(request, anthropic)).toMatchObject({
    prompt: [
      { role: 'system', content: 'a' },
      { role: 'system', content: 'b', providerOptions: marked },
      { role: 'user', content: [{ type: 'text', text: 'c', providerOptions: marked }] },
    ],
    tools: [{ name: 'one', providerOptions: marked }],
  });
  expect(JSON.stringify(toCallOptions(request, mistral))).not.toContain('ephemeral');
});

test('every provider defines the properties that shared code reads', () => {
  for (const [kind, provider] of Object.entries(PROVIDERS)) {
    expect(provider.kind).toBe(kind);
    expect(provider.namespace).not.toBe('');
    expect(provider.usage({})).toBeUndefined();
  }
});
