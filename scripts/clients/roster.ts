export type Language = 'Python' | 'JavaScript' | 'Go' | 'Rust' | 'Java';

/** A client of somebody else, whose newest version is installed from its registry. Its program is in the folder of its name. */
export interface RosterEntry {
  readonly name: string;
  readonly language: Language;
  /** What is installed; the first one is the client itself. */
  readonly packages: readonly string[];
}

export const ROSTER: readonly RosterEntry[] = [
  { name: 'langchain-openai', language: 'Python', packages: ['langchain-openai'] },
  { name: 'langchain-anthropic', language: 'Python', packages: ['langchain-anthropic'] },
  { name: 'langchain-google-genai', language: 'Python', packages: ['langchain-google-genai'] },
  { name: 'pydantic-ai', language: 'Python', packages: ['pydantic-ai'] },
  { name: 'openai-agents-python', language: 'Python', packages: ['openai-agents'] },
  {
    name: 'llama-index',
    language: 'Python',
    packages: ['llama-index-llms-openai', 'llama-index-embeddings-openai', 'llama-index-core'],
  },
  { name: 'haystack', language: 'Python', packages: ['haystack-ai'] },
  { name: 'instructor', language: 'Python', packages: ['instructor'] },
  { name: 'litellm', language: 'Python', packages: ['litellm', 'mcp'] },
  { name: 'semantic-kernel', language: 'Python', packages: ['semantic-kernel'] },
  { name: 'openai-agents-javascript', language: 'JavaScript', packages: ['@openai/agents', 'openai', 'zod'] },
  { name: 'ai-sdk-openai', language: 'JavaScript', packages: ['@ai-sdk/openai', 'ai', 'zod'] },
  {
    name: 'openrouter-ai-sdk-provider',
    language: 'JavaScript',
    packages: ['@openrouter/ai-sdk-provider', 'ai', 'zod'],
  },
  { name: 'openai-go', language: 'Go', packages: ['github.com/openai/openai-go/v3'] },
  { name: 'go-openai', language: 'Go', packages: ['github.com/sashabaranov/go-openai'] },
  { name: 'genai-go', language: 'Go', packages: ['google.golang.org/genai'] },
  { name: 'async-openai', language: 'Rust', packages: ['async-openai'] },
  { name: 'openai-java', language: 'Java', packages: ['com.openai:openai-java'] },
  {
    name: 'langchain4j',
    language: 'Java',
    packages: ['dev.langchain4j:langchain4j-open-ai', 'dev.langchain4j:langchain4j'],
  },
];
