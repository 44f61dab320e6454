import { CHARGES, USED } from './server.ts';

export type PythonClient = 'openai' | 'anthropic' | 'google-genai';

/** What a client's script tells of one case. */
export interface ToldFact {
  readonly case: string;
  readonly text?: string;
  readonly usage?: number;
  readonly error?: string;
  readonly status?: number;
  /** The id of the request, for its receipt. */
  readonly request?: string;
}

interface ExpectedFact extends Omit<ToldFact, 'request'> {
  /** In nano-dollars; absent: the case costs nothing. */
  readonly charge?: number;
}

const usage = USED.prompt + USED.completion;
const chat = { text: 'hello there', usage, charge: CHARGES.chat };
const tools = { case: 'tools', text: 'weather {"city":"Oslo"}', charge: CHARGES.chat };

const EXPECTED: Readonly<Record<PythonClient, readonly ExpectedFact[]>> = {
  openai: [
    { case: 'chat', ...chat },
    { case: 'stream', ...chat },
    tools,
    { case: 'responses', text: 'hello there', charge: CHARGES.chat },
    { case: 'embeddings', text: '3', charge: CHARGES.embedding },
    { case: 'image', text: 'PNG', charge: CHARGES.image },
    { case: 'gpt-image', text: 'PNG PNG', usage: 1_065, charge: 2 * CHARGES.gptImage },
    {
      case: 'image stream',
      text: [...Array(2).fill('image_generation.partial_image PNG'), 'image_generation.completed PNG'].join(
        ' ',
      ),
      charge: CHARGES.gptImage + 2 * CHARGES.partialImage,
    },
    { case: 'image edit', text: 'PNG', charge: CHARGES.gptImage + 2 * CHARGES.sentImage },
    {
      case: 'image edit stream',
      text: 'image_edit.partial_image PNG image_edit.completed PNG',
      charge: CHARGES.gptImage + CHARGES.sentImage + CHARGES.partialImage,
    },
    { case: 'models', text: 'True' },
    { case: 'no money', error: 'APIStatusError', status: 402, text: 'payment_required' },
    { case: 'bad token', error: 'AuthenticationError', status: 401, text: 'invalid_token' },
    { case: 'unknown model', error: 'BadRequestError', status: 400, text: 'unsupported_model' },
    { case: 'bad field', error: 'BadRequestError', status: 400, text: 'invalid_field' },
  ],
  anthropic: [
    { case: 'chat', ...chat },
    { case: 'stream', ...chat },
    tools,
    { case: 'count tokens', text: 'True' },
    { case: 'models', text: 'True' },
    { case: 'no money', error: 'APIStatusError', status: 402, text: 'billing_error' },
    { case: 'bad token', error: 'AuthenticationError', status: 401, text: 'authentication_error' },
    { case: 'unknown model', error: 'BadRequestError', status: 400, text: 'invalid_request_error' },
    { case: 'bad field', error: 'BadRequestError', status: 400, text: 'invalid_request_error' },
  ],
  'google-genai': [
    { case: 'chat', ...chat },
    { case: 'stream', ...chat },
    tools,
    { case: 'count tokens', text: 'True' },
    { case: 'models', text: 'True' },
    { case: 'no money', error: 'ClientError', status: 402, text: 'FAILED_PRECONDITION' },
    { case: 'bad token', error: 'ClientError', status: 401, text: 'UNAUTHENTICATED' },
    { case: 'unknown model', error: 'ClientError', status: 400, text: 'INVALID_ARGUMENT' },
    { case: 'bad field', error: 'ClientError', status: 400, text: 'INVALID_ARGUMENT' },
  ],
};

export function expectedFacts(client: PythonClient): readonly ExpectedFact[] {
  return EXPECTED[client];
}
