/** What the backend takes, in nano-dollars a token: $1, $0.10 and $10 a million. Every gateway is set up with the same prices. */
export const PRICES = {
  inputPerMillionUsd: 1,
  cachedInputPerMillionUsd: 0.1,
  outputPerMillionUsd: 10,
  imageUsd: 0.04,
  /** What the service tier of that name costs beside the ordinary one. */
  priorityFactor: 2,
} as const;

const NANO_PER_USD = 1_000_000_000;
const perToken = (usdPerMillion: number): number => (usdPerMillion * NANO_PER_USD) / 1_000_000;

/** What a call used, as the backend knows it, whatever it reports. */
export interface Work {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  readonly images: number;
  readonly factor: number;
}

export const NO_WORK: Work = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, images: 0, factor: 1 };

export function billUsd({ inputTokens, cachedTokens, outputTokens, images, factor }: Work): number {
  const tokens =
    (inputTokens - cachedTokens) * perToken(PRICES.inputPerMillionUsd) +
    cachedTokens * perToken(PRICES.cachedInputPerMillionUsd) +
    outputTokens * perToken(PRICES.outputPerMillionUsd);
  return (tokens * factor + images * PRICES.imageUsd * NANO_PER_USD) / NANO_PER_USD;
}
