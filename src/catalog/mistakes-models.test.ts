import { describe, expect, test } from 'bun:test';
import { catalogText as file, markedMistakes, type MistakeCase } from '../../test/support/marked-catalog.ts';

const CASES: MistakeCase[] = [
  [
    'an unknown key of a model',
    file({ models: '{ model: m, input: 1, output: 1, ¦cached_inptu: 1 }' }),
    'lists.list[0].cached_inptu',
    /unknown key; did you mean cached_input\?/,
  ],
  [
    'a second unknown key beside another one',
    file({ models: '{ model: m, input: 1, output: 1, cached_inptu: 1, ¦contxt: 1 }' }),
    'lists.list[0].contxt',
    /unknown key; did you mean context\?/,
  ],
  [
    'an unknown key of an endpoint',
    file({ endpoint: '¦list: [list]' }),
    'endpoints.chat.list',
    /unknown key/,
  ],
  [
    'a reference where none is read',
    file({ models: '{ model: ¦"${OPENAI_API_KEY}", input: 1, output: 1 }' }),
    'lists.list[0].model',
    /works only in base_url/,
  ],
  [
    'a model without a price',
    file({ models: '¦{ model: m }' }),
    'lists.list[0]',
    /has no price; give input and output/,
  ],
  [
    'a price of zero',
    file({ models: '{ model: m, input: ¦0, output: 0 }' }),
    'lists.list[0].input',
    /makes the model free/,
  ],
  [
    'a free model with a price',
    file({ models: '{ model: m, input: 1, output: 1, free: ¦true }' }),
    'lists.list[0].free',
    /remove one of them/,
  ],
  [
    'a name of the output cap that no API has',
    file({ models: '{ model: m, input: 1, output: 1, cap_field: ¦max_token }' }),
    'lists.list[0].cap_field',
    /must be one of max_tokens, max_completion_tokens/,
  ],
  [
    'an image format that no API has',
    file({ models: '{ model: m, image: 1, sizes: [512x512], image_format: ¦png }' }),
    'lists.list[0].image_format',
    /must be one of b64_json, default/,
  ],
  [
    'an output cap of an image model',
    file({
      models: '{ model: m, image: 1, sizes: [512x512], cap_field: ¦max_tokens }',
    }).replace('chat_completion', 'image_generation'),
    'lists.list[0].cap_field',
    /is for chat models/,
  ],
  [
    'an image format of a chat model',
    file({ models: '{ model: m, input: 1, output: 1, image_format: ¦default }' }),
    'lists.list[0].image_format',
    /is for image models/,
  ],
  ['half a price', file({ models: '¦{ model: m, input: 1 }' }), 'lists.list[0].output', /is missing/],
  [
    'two kinds of price',
    file({ models: '{ model: m, input: 1, output: 1, image: ¦1 }' }),
    'lists.list[0].image',
    /keep one of them/,
  ],
  [
    'a negative price',
    file({ models: '{ model: m, input: ¦-0.1, output: 1 }' }),
    'lists.list[0].input',
    /must not be negative/,
  ],
  [
    'a price too fine',
    file({ models: '{ model: m, input: ¦0.0000000001, output: 1 }' }),
    'lists.list[0].input',
    /more than nine decimals/,
  ],
  [
    'an absurd price',
    file({ models: '{ model: m, input: ¦10000.000000001, output: 1 }' }),
    'lists.list[0].input',
    /at most 10,000 USD/,
  ],
  [
    'a price with an exponent',
    file({ models: '{ model: m, input: ¦1e3, output: 1 }' }),
    'lists.list[0].input',
    /plain decimal/,
  ],
  [
    'a price that is no number',
    file({ models: '{ model: m, input: ¦cheap, output: 1 }' }),
    'lists.list[0].input',
    /plain decimal/,
  ],
  [
    'a price that is infinite',
    file({ models: '{ model: m, input: ¦.inf, output: 1 }' }),
    'lists.list[0].input',
    /plain decimal/,
  ],
  [
    'a price that is a list',
    file({ models: '{ model: m, input: ¦[1], output: 1 }' }),
    'lists.list[0].input',
    /amount of US dollars/,
  ],
  [
    'an image model without sizes',
    file({ models: '¦{ model: m, image: 1 }' }),
    'lists.list[0].sizes',
    /is missing/,
  ],
  [
    'an absurd image price',
    file({ models: '{ model: m, image: ¦1001, sizes: [64x64] }' }),
    'lists.list[0].image',
    /at most 1,000 USD/,
  ],
  [
    'a size without a price',
    file({ models: '{ model: m, image: ¦{ 64x64: 1 }, sizes: [64x64, 32x32] }' }),
    'lists.list[0].image',
    /no price for 32x32/,
  ],
  [
    'a price for a size that is not there',
    file({ models: '{ model: m, image: ¦{ default: 1, 16x16: 1 }, sizes: [64x64] }' }),
    'lists.list[0].image',
    /16x16, which is not in sizes/,
  ],
  [
    'a size that is none',
    file({ models: '{ model: m, image: 1, sizes: [¦big] }' }),
    'lists.list[0].sizes[0]',
    /such as 1024x1024/,
  ],
  [
    'a range of sizes that its default is not in',
    file({ models: '{ model: m, image: 1, sizes: ¦{ default: 100x100, step: 16, max_edge: 512 } }' }),
    'lists.list[0].sizes',
    /default of 100x100, which is not in the range/,
  ],
  [
    'a range of sizes without a price for all of them',
    file({ models: '{ model: m, image: ¦{ 64x64: 1 }, sizes: { default: 64x64, max_edge: 512 } }' }),
    'lists.list[0].image',
    /no default price/,
  ],
  [
    'a mistyped ability',
    file({ models: '{ model: m, image: 1, sizes: [64x64], abilities: { ¦sead: true } }' }),
    'lists.list[0].abilities.sead',
    /did you mean seed/,
  ],
  [
    'abilities of a chat model',
    file({ models: '{ model: m, input: 1, output: 1, abilities: ¦{ seed: true } }' }),
    'lists.list[0].abilities',
    /for image models/,
  ],
  [
    'a quality that has no price',
    file({
      models: '{ model: m, image: { 64x64: { low: 1 } }, abilities: ¦{ quality: [low, high] } }',
    }),
    'lists.list[0].abilities',
    /quality high without a price/,
  ],
  [
    'an aspect ratio that its size has not',
    file({ models: '{ model: m, image: 1, sizes: [64x64], abilities: ¦{ aspect_ratio: { 2:1: 64x64 } } }' }),
    'lists.list[0].abilities',
    /64x64 is 2:1; it is not/,
  ],
  [
    'an aspect ratio of a size that the model has not',
    file({ models: '{ model: m, image: 1, sizes: [64x64], abilities: ¦{ aspect_ratio: { 1:1: 32x32 } } }' }),
    'lists.list[0].abilities',
    /32x32, which is not in sizes/,
  ],
  [
    'a price per picture of a model that is sold by the token',
    file({ models: '{ model: m, input: 1, output: 1, input_image: ¦1 }' }),
    'lists.list[0].input_image',
    /goes with a price per image/,
  ],
  [
    'partial images that have no price',
    file({ models: '{ model: m, image: 1, sizes: [64x64], abilities: ¦{ partial_images: 2 } }' }),
    'lists.list[0].abilities',
    /partial_images without a price/,
  ],
  [
    'a mask for no picture',
    file({ models: '{ model: m, image: 1, sizes: [64x64], abilities: ¦{ mask: true } }' }),
    'lists.list[0].abilities',
    /no reference_images/,
  ],
  [
    'a size twice',
    file({ models: '{ model: m, image: 1, sizes: ¦[64x64, 64x64] }' }),
    'lists.list[0].sizes',
    /twice/,
  ],
  [
    'an answer longer than the context',
    file({ models: '{ model: m, input: 1, output: 1, context: 100, max_output: ¦101 }' }),
    'lists.list[0].max_output',
    /not exceed the context of 100/,
  ],
  [
    'a fraction of a token',
    file({ models: '{ model: m, input: 1, output: 1, context: ¦1.5 }' }),
    'lists.list[0].context',
    /whole number/,
  ],
  [
    'a model id with a space',
    file({ models: '{ model: ¦a b, input: 1, output: 1 }' }),
    'lists.list[0].model',
    /without spaces/,
  ],
  [
    'a model twice in a list',
    file({ models: '{ model: m, free: true }\n    - { model: ¦m, free: true }' }),
    'lists.list[1].model',
    /twice/,
  ],
  [
    'a rename for an unknown upstream',
    file({ models: '{ model: m, free: true, upstream_models: { nobody: ¦x } }' }),
    'lists.list[0].upstream_models.nobody',
    /no upstream 'nobody'; known: house/,
  ],
  ['an empty list', file({}).replace(/\n {4}- .*/, ' ¦[]'), 'lists.list', /at least one model/],
  [
    'an unknown list',
    file({ endpoint: 'lists: [list, ¦lost]' }),
    'endpoints.chat.lists[1]',
    /no list 'lost'; known: list/,
  ],
  [
    'an unknown upstream',
    file({ upstreams: '[house, ¦lost]' }),
    'endpoints.chat.upstreams[1]',
    /no upstream 'lost'; known: house/,
  ],
  [
    'an unknown weighted upstream',
    file({ upstreams: '[¦{ name: lost, weight: 1 }]' }),
    'endpoints.chat.upstreams[0]',
    /no upstream 'lost'/,
  ],
  ['an upstream twice', file({ upstreams: '[house, ¦house]' }), 'endpoints.chat.upstreams[1]', /twice/],
  [
    'a weight of zero',
    file({ upstreams: '[{ name: house, weight: ¦0 }]' }),
    'endpoints.chat.upstreams[0].weight',
    /whole number from 1 to 1000/,
  ],
  [
    'an upstream that is no name',
    file({ upstreams: '[¦7]' }),
    'endpoints.chat.upstreams[0]',
    /name of an upstream/,
  ],
  [
    'an endpoint without upstreams',
    file({ upstreams: '¦[]' }),
    'endpoints.chat.upstreams',
    /at least one upstream/,
  ],
  [
    'an unknown type',
    file({}).replace('chat_completion', '¦chat'),
    'endpoints.chat.type',
    /must be one of chat_completion, image_generation, embedding/,
  ],
  [
    'a price for moderation, which no backend reports',
    file({ endpoint: 'lists: [¦list]' }).replace('chat_completion', 'moderation'),
    'endpoints.chat.lists[0]',
    /moderation needs models with free: true/,
  ],
  [
    'image models on a chat endpoint',
    file({ models: '{ model: m, image: 1, sizes: [64x64] }', endpoint: 'lists: [¦list]' }),
    'endpoints.chat.lists[0]',
    /priced by the image; chat_completion needs/,
  ],
  [
    'chat models on an image endpoint',
    file({ endpoint: 'lists: [¦list]' }).replace('chat_completion', 'image_generation'),
    'endpoints.chat.lists[0]',
    /priced by the token; image_generation needs/,
  ],
  [
    'a model from two lists',
    file({ endpoint: 'lists: [list, ¦more]' }).replace(
      'endpoints:',
      '  more:\n    - { model: m, free: true }\nendpoints:',
    ),
    'endpoints.chat.lists[1]',
    /'m' in again; list 'list' has it/,
  ],
];

describe('an error in models or endpoints is reported with line, column and key', () => {
  test.each(CASES)('%s', (_about, marked, path, message) => {
    const { mistakes, place } = markedMistakes(marked);
    expect(mistakes).toContainEqual({ ...place, path, message: expect.stringMatching(message) });
  });
});
