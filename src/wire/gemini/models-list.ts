/** A chat model as Google's clients list it (https://ai.google.dev/api/models). */
interface GeminiModel {
  name: string;
  version: string;
  displayName: string;
  description: string;
  inputTokenLimit: number;
  outputTokenLimit: number;
  supportedGenerationMethods: readonly string[];
  thinking: boolean;
}

export interface GeminiModelEntry {
  /** `code/model`, or an alias. */
  readonly id: string;
  readonly displayName: string;
  readonly contextTokens: number;
  readonly maxOutput: number;
  readonly reasoning: boolean;
}

export function geminiModel(entry: GeminiModelEntry): GeminiModel {
  return {
    name: `models/${entry.id}`,
    version: '1',
    displayName: entry.displayName,
    description: '',
    inputTokenLimit: entry.contextTokens,
    outputTokenLimit: entry.maxOutput,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    thinking: entry.reasoning,
  };
}
