/** A chat or embedding model as Google's clients list it (https://ai.google.dev/api/models). */
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
  /** It makes vectors of texts; absent: it answers chats. */
  readonly embeds?: boolean | undefined;
}

export function geminiModel(entry: GeminiModelEntry): GeminiModel {
  return {
    name: `models/${entry.id}`,
    version: '1',
    displayName: entry.displayName,
    description: '',
    inputTokenLimit: entry.contextTokens,
    outputTokenLimit: entry.maxOutput,
    supportedGenerationMethods: entry.embeds ? EMBEDDING_METHODS : CHAT_METHODS,
    thinking: entry.reasoning,
  };
}

const CHAT_METHODS = ['generateContent', 'streamGenerateContent', 'countTokens'];
const EMBEDDING_METHODS = ['embedContent', 'batchEmbedContents'];
