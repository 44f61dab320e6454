/**
 * A mark of our own for each provider: most do not let others show their logo without asking. Each hints at the name, on a
 * square of 24, and is drawn with one line in the colour of the text.
 */
const LINES: Readonly<Record<string, string>> = {
  // A ring that is open.
  openai: `M17.5 5.5a8.5 8.5 0 1 0 3 6.5 ${dot(20, 5)}`,
  // Somebody with open arms.
  anthropic: `${ring(12, 5.5, 2.5)} M4 10.5l8 2 8-2 M12 12.5v3l-4.5 5.5 M12 15.5l4.5 5.5`,
  // The sign of the twins.
  google: 'M4.5 4c4.5 2.5 10.5 2.5 15 0 M4.5 20c4.5-2.5 10.5-2.5 15 0 M9 6v12 M15 6v12',
  // One way that becomes three.
  openrouter: `${dot(4, 12)} M5 12h16 M8 12c5 0 4-6 9-6h4 M8 12c5 0 4 6 9 6h4`,
  // Down from the waves.
  deepseek: 'M3 5.5q3-3 6 0t6 0 6 0 M12 9.5v11 M7.5 16l4.5 4.5 4.5-4.5',
  // The wind of that name.
  mistral: 'M3 9h11a2.75 2.75 0 1 0-2.75-2.75 M3 13h15a2.75 2.75 0 1 1-2.75 2.75 M3 17h8',
  // Ahead, and ahead again.
  groq: 'M4 5.5l6.5 6.5L4 18.5 M12.5 5.5L19 12l-6.5 6.5',
  // An x of points.
  xai: `${ring(6, 6, 1.4)} ${ring(18, 6, 1.4)} ${ring(6, 18, 1.4)} ${ring(18, 18, 1.4)} ${ring(12, 12, 2.2)}`,
  // Two that share something.
  together: `${ring(8.5, 12, 5.5)} ${ring(15.5, 12, 5.5)}`,
  fireworks:
    'M12 3v4.5 M12 16.5V21 M3 12h4.5 M16.5 12H21 M5.6 5.6l3.2 3.2 M15.2 15.2l3.2 3.2 M18.4 5.6l-3.2 3.2 M8.8 15.2l-3.2 3.2',
  // Waves in step.
  cohere: 'M3 7q4.5-4.5 9 0t9 0 M3 12.5q4.5-4.5 9 0t9 0 M3 18q4.5-4.5 9 0t9 0',
  // Two halves of a brain.
  cerebras:
    'M12 4.5v15 M12 6c-1-2.5-5-2-5 1-3 .5-3.5 4-1.5 5-2 1.5-1 5 1.5 5 .5 3 4 3 5 .5 M12 6c1-2.5 5-2 5 1 3 .5 3.5 4 1.5 5 2 1.5 1 5-1.5 5-.5 3-4 3-5 .5',
  nvidia:
    'M7 7h10v10H7z M10 7V3.5 M14 7V3.5 M10 20.5V17 M14 20.5V17 M3.5 10H7 M3.5 14H7 M17 10h3.5 M17 14h3.5',
  // A new star.
  sambanova: 'M12 3l2.6 5.8 6.4.7-4.7 4.3 1.3 6.2L12 16.9 6.4 20l1.3-6.2L3 9.5l6.4-.7z',
  // Layers, down into the depth.
  deepinfra: 'M12 3.5l8.5 4.25L12 12 3.5 7.75z M3.5 12l8.5 4.25L20.5 12 M3.5 16.25l8.5 4.25 8.5-4.25',
  moonshot: `M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z ${dot(18, 5.5)}`,
  // From the first letter to the last.
  zai: 'M5 5.5h14L5 18.5h14 M9 12h6',
  // What a scope shows.
  dashscope: `${ring(12, 12, 6)} M12 2.5V8 M12 16v5.5 M2.5 12H8 M16 12h5.5`,
  // The small one in the large one.
  minimax: 'M4 4h16v16H4z M4 13h7v7',
  // A nebula, nearer to the ground.
  nebius: 'M7 18.5h10a4.25 4.25 0 0 0 .5-8.5A6 6 0 0 0 6 11a3.8 3.8 0 0 0 1 7.5z',
  // Something new that grows.
  novita: 'M12 20.5V10.5 M12 11c0-4.5 3-7 8-7 0 4.5-3 7-8 7z M12 15c0-3.5-2.5-5.5-7-5.5 0 3.5 2.5 5.5 7 5.5z',
  hyperbolic: 'M4 3.5c6.5 4.5 6.5 12.5 0 17 M20 3.5c-6.5 4.5-6.5 12.5 0 17',
  // A feather all the same.
  featherless: 'M4 20L14.5 9.5 M7 17v-4C7 7.5 12 3.5 20.5 3.5c0 8.5-4 13.5-9.5 13.5z M11 13.5h5.5',
  huggingface: 'M12 20.5S3.5 15.5 3.5 9.5A4.5 4.5 0 0 1 12 7.5a4.5 4.5 0 0 1 8.5 2c0 6-8.5 11-8.5 11z',
  // More, and more.
  scaleway: 'M4.5 20v-4 M9.5 20v-7.5 M14.5 20V9 M19.5 20V4.5',
  // A pot, which is an olla.
  ollama: 'M3 10.5h18 M5 10.5h14v6a4 4 0 0 1-4 4H9a4 4 0 0 1-4-4z M7 7q5-3.5 10 0 M12 5.25V3.5',
  // What studios have in front of them.
  lmstudio: `M3.5 6.5h8 M16.5 6.5h4 ${ring(14, 6.5, 2.5)} M3.5 12h2 M10.5 12h10 ${ring(8, 12, 2.5)} M3.5 17.5h10 M18.5 17.5h2 ${ring(16, 17.5, 2.5)}`,
  llamacpp:
    'M8.5 4c-3 0-3 2-3 4s-.5 4-2.5 4c2 0 2.5 2 2.5 4s0 4 3 4 M15.5 4c3 0 3 2 3 4s.5 4 2.5 4c-2 0-2.5 2-2.5 4s0 4-3 4 M12 9v6 M9 12h6',
  // Memory in pages.
  vllm: 'M4 4h6.5v6.5H4z M13.5 4H20v6.5h-6.5z M4 13.5h6.5V20H4z M13.5 13.5H20V20h-6.5z M15.5 16.75h2.5',
  house: 'M4 11.5L12 4l8 7.5V20H4z M10 20v-5.5h4V20',
  // Any other server.
  '': `M4 4.5h16v6H4z M4 13.5h16v6H4z ${dot(8, 7.5)} ${dot(8, 16.5)}`,
};

/** `names`: the first that has a mark says which one it is. */
export function ProviderMark({ names }: { readonly names: readonly string[] }) {
  const known = names.find((name) => Object.hasOwn(LINES, name)) ?? '';
  return (
    <span aria-hidden className="grid size-9 shrink-0 place-items-center rounded-md bg-sunken text-ink-2">
      <svg
        viewBox="0 0 24 24"
        className="size-5 fill-none stroke-current stroke-[1.75]"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        <path d={LINES[known]} />
      </svg>
    </span>
  );
}

function dot(x: number, y: number): string {
  return ring(x, y, 0.6);
}

function ring(x: number, y: number, radius: number): string {
  return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
}
