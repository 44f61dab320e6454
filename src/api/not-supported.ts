import { NO_BODY } from '../http/request-body.ts';
import { apiErrors, PLAIN_ERRORS, type ErrorFormat } from '../http/response.ts';
import type { HttpRoute, Method } from '../http/router.ts';
import { Fault } from '../std/fault.ts';
import { ANTHROPIC_ERRORS, GOOGLE_ERRORS } from './errors.ts';

/** What clients of other servers ask for and Tollgate does not have, so that they are told more than that the path is unknown. */
interface NotSupported {
  /** A path that ends in `…` stands for everything below it. */
  readonly paths: readonly string[];
  /** What is missing, and what to use instead. */
  readonly message: string;
  readonly methods?: readonly Method[];
}

interface Dialect {
  readonly errors: ErrorFormat;
  readonly missing: readonly NotSupported[];
}

const COLLECTION: readonly Method[] = ['GET', 'POST', 'DELETE'];

const NO_FILES =
  'Files are not kept here. Send their content in the request itself: images, sound and documents are parts of a message.';
const NO_BATCHES =
  'Batches are not supported. Send each request by itself; an Idempotency-Key makes retries safe.';
const NO_TUNING = 'Models cannot be fine-tuned here. GET /v1/models lists those that are served.';
const NO_STORES =
  'Documents are not indexed here. Create vectors with POST /v1/embeddings and search them yourself.';
const NO_VIDEOS = 'Videos are not made here. POST /v1/images/generations makes images.';

const OPENAI: Dialect = {
  errors: PLAIN_ERRORS,
  missing: [
    {
      paths: ['/v1/audio/…'],
      methods: ['POST'],
      message:
        'Speech and transcription are not supported. Send sound as input_audio in POST /v1/chat/completions, to a model that takes it.',
    },
    { paths: ['/v1/files', '/v1/files/…', '/v1/uploads', '/v1/uploads/…'], message: NO_FILES },
    { paths: ['/v1/batches', '/v1/batches/…'], message: NO_BATCHES },
    { paths: ['/v1/fine_tuning/…', '/v1/fine-tunes', '/v1/fine-tunes/…'], message: NO_TUNING },
    {
      paths: ['/v1/realtime', '/v1/realtime/…'],
      methods: ['GET', 'POST'],
      message: 'Realtime sessions are not supported. Use POST /v1/chat/completions with stream: true.',
    },
    {
      paths: ['/v1/rerank', '/v2/rerank', '/rerank'],
      methods: ['POST'],
      message: 'Reranking is not supported. Compare vectors of POST /v1/embeddings, or ask a chat model.',
    },
    {
      paths: ['/v1/assistants', '/v1/assistants/…', '/v1/threads', '/v1/threads/…'],
      message: 'Assistants are not supported. Use POST /v1/responses or POST /v1/chat/completions.',
    },
    { paths: ['/v1/vector_stores', '/v1/vector_stores/…'], message: NO_STORES },
    {
      paths: ['/v1/images/variations'],
      methods: ['POST'],
      message: 'Variations are not supported. Use POST /v1/images/edits with a prompt.',
    },
    { paths: ['/v1/videos', '/v1/videos/…'], message: NO_VIDEOS },
    {
      paths: ['/v1/containers', '/v1/containers/…', '/v1/evals', '/v1/evals/…'],
      message: 'Code and evaluations are not run here. Offer a function to the model and run it yourself.',
    },
  ],
};

const ANTHROPIC: Dialect = {
  errors: apiErrors(ANTHROPIC_ERRORS.body),
  missing: [
    { paths: ['/v1/messages/batches', '/v1/messages/batches/…'], message: NO_BATCHES },
    {
      paths: ['/v1/complete'],
      methods: ['POST'],
      message: 'The older completions are not supported. Use POST /v1/messages.',
    },
  ],
};

const GEMINI: Dialect = {
  errors: apiErrors(GOOGLE_ERRORS.body),
  missing: [
    {
      paths: ['/v1beta/files', '/v1beta/files/…', '/upload/v1beta/files', '/upload/v1beta/files/…'],
      message: NO_FILES,
    },
    {
      paths: ['/v1beta/cachedContents', '/v1beta/cachedContents/…'],
      message: 'Content is not kept here. Send all of it in contents; backends cache what is repeated.',
    },
    { paths: ['/v1beta/batches', '/v1beta/batches/…'], message: NO_BATCHES },
    { paths: ['/v1beta/models/…:batchGenerateContent'], methods: ['POST'], message: NO_BATCHES },
    {
      paths: ['/v1beta/models/…:predict'],
      methods: ['POST'],
      message: 'Images are not made in this dialect. Use POST /v1/images/generations.',
    },
    { paths: ['/v1beta/models/…:predictLongRunning'], methods: ['POST'], message: NO_VIDEOS },
    { paths: ['/v1beta/tunedModels', '/v1beta/tunedModels/…'], message: NO_TUNING },
    { paths: ['/v1beta/corpora', '/v1beta/corpora/…', '/v1beta/fileSearchStores'], message: NO_STORES },
  ],
};

const NO_OLLAMA =
  "Ollama's own API is not supported. Use its OpenAI-compatible one: this server's address with /v1 as base URL.";
const ollama = (names: string): string[] => names.split(' ').map((name) => `/api/${name}`);

/** Ollama's clients show the text in `error`. */
const OLLAMA: Dialect = {
  errors: apiErrors(({ message, code }) => ({ error: message, code })),
  missing: [
    {
      paths: ollama('chat generate embed embeddings show pull push create copy blobs/…'),
      methods: ['POST'],
      message: NO_OLLAMA,
    },
    { paths: ollama('tags ps version'), methods: ['GET'], message: NO_OLLAMA },
    { paths: ollama('delete'), methods: ['DELETE'], message: NO_OLLAMA },
  ],
};

/** Without a token: nothing is done, and nothing is told about an account. */
export const NOT_SUPPORTED_ROUTES: readonly HttpRoute[] = [OPENAI, ANTHROPIC, GEMINI, OLLAMA].flatMap(
  ({ errors, missing }) =>
    missing.flatMap(({ paths, methods = COLLECTION, message }) =>
      paths.flatMap((path) =>
        methods.map((method) => ({
          method,
          path: path.replace('…', '**'),
          door: 'api' as const,
          body: NO_BODY,
          errors,
          handle: () => Promise.reject(new Fault('not_supported', message)),
        })),
      ),
    ),
);
