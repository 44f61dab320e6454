import { PARTNERS, type Partner } from './builtin-partners.ts';
import type { Environment } from './key-rules.ts';

/**
 * The catalog without any configuration: all eight public endpoint codes on the built-in backend, without a key.
 * `partner_chat` uses the first provider key found in the environment.
 */
export function builtinCatalog(env: Environment): string {
  const found = findPartner(env);
  return `# Tollgate's built-in catalog. Prices are USD per million tokens, or USD per image.
upstreams:
  house: { kind: house }
${found ? partnerUpstream(found.partner, found.variable) : ''}
lists:
  house_guides:
    - { model: house-guide, display_name: House Guide, input: 0.10, output: 0.40, context: 128000 }
  house_tools:
    - { model: house-echo, display_name: House Echo, input: 0.05, output: 0.20, context: 128000, vision: true, tools: true, inputs: { image: { max_tokens: 800 }, audio: { tokens_per_second: 32 }, file: { max_tokens: 3000 } } }
  image_models:
    - model: house-paint
      display_name: House Paint
      image: { default: { high: 0.01, medium: 0.006, low: 0.003 } }
      input_image: 0.002
      partial_image: 0.001
      sizes: [1024x1024, 512x512, 256x256]
      abilities: { ${HOUSE_PAINT}, quality: [high, medium, low], resolution: { 1K: 1024x1024, 0.5K: 512x512 } }
  image_models_wide:
    - model: house-paint
      display_name: House Paint
      image: { per_megapixel: 0.01 }
      input_image: 0.002
      partial_image: 0.001
      sizes: { default: 1024x1024, step: 8, min_edge: 256, max_edge: 2048, max_ratio: 4, max_pixels: 2359296 }
      abilities: { ${HOUSE_PAINT}, aspect_ratio: { 1:1: 1024x1024, 16:9: 1792x1008, 9:16: 1008x1792, 3:2: 1536x1024, 2:3: 1024x1536 } }
${found ? partnerList(found.partner) : ''}
endpoints:
  svc_chat:     { name: Primary chat, type: chat_completion, lists: [house_guides, house_tools], upstreams: [house] }
  svcv1_chat:   { name: Alternative chat, type: chat_completion, lists: [house_guides, house_tools], upstreams: [house] }
  svcv3_chat:   { name: Additional chat, type: chat_completion, lists: [house_guides, house_tools], upstreams: [house] }
  svcv4_chat:   { name: Extended chat, type: chat_completion, lists: [house_guides, house_tools], upstreams: [house] }
  svcv5_chat:   { name: Specialized chat, type: chat_completion, lists: [house_tools, house_guides], upstreams: [house] }
${partnerEndpoint(found?.partner)}
  svc_tgter:    { name: Image generation, type: image_generation, lists: [image_models], upstreams: [house] }
  svcv2_image:  { name: Image generation (alternative), type: image_generation, lists: [image_models_wide], upstreams: [house] }

# Several endpoints have the house models; these names say which one a client gets that asks for the bare model.
aliases:
  house-guide: svc_chat/house-guide
  house-echo: svc_chat/house-echo
  house-paint: svc_tgter/house-paint
`;
}

/** What the built-in painter honours, in either list. */
const HOUSE_PAINT =
  'max_n: 10, reference_images: 4, mask: true, partial_images: 3, output_format: [png, jpeg, webp], output_compression: true, background: [auto, opaque, transparent], style: [vivid, natural, pastel, muted, monochrome, sepia, neon, oil], seed: true, negative_prompt: true';

/** The first one wins: an endpoint's upstreams are alternatives, and providers do not serve each other's models. */
function findPartner(env: Environment): { partner: Partner; variable: string } | undefined {
  for (const partner of PARTNERS) {
    const variable = partner.variables.find((name) => (env[name] ?? '').trim() !== '');
    if (variable !== undefined) return { partner, variable };
  }
  return undefined;
}

function partnerUpstream(partner: Partner, variable: string): string {
  const address = partner.baseUrl === undefined ? '' : `base_url: ${partner.baseUrl}, `;
  return `  ${partner.name}: { kind: ${partner.kind}, ${address}api_key: \${${variable}} }\n`;
}

function partnerList(partner: Partner): string {
  return `  partner_models:\n${partner.models.map((model) => `    - { ${model} }\n`).join('')}`;
}

function partnerEndpoint(partner: Partner | undefined): string {
  if (partner) {
    return `  partner_chat: { name: Partner chat, type: chat_completion, lists: [partner_models], upstreams: [${partner.name}] }`;
  }
  const variables = PARTNERS.map(({ variables: [first] }) => first)
    .join(', ')
    .replace(/, (\w+)$/, ' or $1');
  return `  partner_chat:
    name: Partner chat
    type: chat_completion
    unavailable: Endpoint 'partner_chat' has no provider yet. Its operator can set ${variables} for Tollgate and restart it.`;
}
