/**
 * The part of node-llama-cpp (version 3.7 or later) that is used here. The package is an opt-in install of a few
 * hundred megabytes, so its types are declared here and its code is imported only when a `kind: gguf` backend is used.
 */
export interface LlamaPackage {
  getLlama(options?: { logLevel?: string }): Promise<Llama>;
  readonly LlamaChat: new (options: {
    contextSequence: LlamaSequence;
    autoDisposeSequence: boolean;
  }) => LlamaChat;
}

export interface Llama {
  loadModel(options: { modelPath: string; gpuLayers?: number }): Promise<LlamaModel>;
  getGrammarFor(type: 'json'): Promise<LlamaGrammar>;
  createGrammarForJsonSchema(schema: object): Promise<LlamaGrammar>;
}

export interface LlamaModel {
  tokenize(text: string): readonly number[];
  createContext(options: { contextSize?: number; threads?: number }): Promise<LlamaContext>;
  dispose(): Promise<void>;
}

export interface LlamaContext {
  readonly contextSize: number;
  getSequence(): LlamaSequence;
}

/** Opaque to us. */
export type LlamaSequence = object;
export type LlamaGrammar = object;

interface LlamaChat {
  generateResponse(history: LlamaHistoryItem[], options: LlamaGenerateOptions): Promise<LlamaResponse>;
  dispose(options: { disposeSequence: boolean }): void;
}

export type LlamaHistoryItem =
  | { type: 'system'; text: string }
  | { type: 'user'; text: string }
  | { type: 'model'; response: string[] };

export interface LlamaGenerateOptions {
  signal: AbortSignal;
  maxTokens: number;
  temperature?: number;
  topP?: number;
  seed?: number;
  repeatPenalty?: { frequencyPenalty?: number; presencePenalty?: number };
  customStopTriggers?: readonly string[];
  grammar?: LlamaGrammar;
  onResponseChunk(chunk: LlamaChunk): void;
}

/** `segmentType` is `thought` for a reasoning model's thoughts. */
export interface LlamaChunk {
  readonly type?: 'segment' | undefined;
  readonly segmentType?: string | undefined;
  readonly text: string;
  readonly tokens: readonly number[];
}

interface LlamaResponse {
  readonly metadata: { readonly stopReason: string };
}

export const INSTALL_HINT =
  'node-llama-cpp is not installed; run npm install node-llama-cpp where Tollgate is installed';

/**
 * The name is in a variable, so that neither the type checker nor the bundler looks for a package that may be missing.
 */
export async function importLlama(): Promise<LlamaPackage> {
  const name = 'node-llama-cpp';
  // The shape is not checked: it is the contract of the version named above.
  return (await import(name)) as LlamaPackage;
}
