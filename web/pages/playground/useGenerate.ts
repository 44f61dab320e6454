import { useState } from 'react';
import type { PlaygroundImages, PlaygroundReceipt } from '../../../src/console/contract.ts';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import type { Picture } from '../images/Lightbox.tsx';

export interface ImageOrder {
  readonly endpoint: string;
  readonly model: string;
  readonly prompt: string;
  readonly n: number;
  readonly size: string;
  readonly quality?: string;
}

interface Results {
  readonly pictures: readonly Picture[];
  readonly receipt: PlaygroundReceipt | undefined;
}

const NONE: Results = { pictures: [], receipt: undefined };
/** Kept while the page is away. */
let kept: Results = NONE;

export function useGenerate() {
  const [results, setResults] = useState(kept);
  const keep = (next: Results): void => {
    kept = next;
    setResults(next);
  };
  const generate = useAction(
    async (order: ImageOrder) => ({
      order,
      answer: await call('POST /api/console/playground/images', { body: order }),
    }),
    {
      refresh: ['GET /api/console/images', 'GET /api/console/overview'],
      onDone: ({ order, answer }) =>
        keep({ pictures: [...picturesOf(answer, order), ...kept.pictures], receipt: answer.receipt }),
    },
  );
  return { generate, results, forget: () => keep(NONE) };
}

function picturesOf(answer: PlaygroundImages, order: ImageOrder): Picture[] {
  return answer.data.map((image, index) => ({
    key: `${answer.receipt.requestId}-${index}`,
    src: image.url ?? `data:image/png;base64,${image.b64_json ?? ''}`,
    prompt: order.prompt,
  }));
}
