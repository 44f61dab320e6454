import { Fault } from '../../std/fault.ts';
import type { ChatRequest } from '../openai/chat.ts';
import { isAbsent, withoutAbsent } from '../without-absent.ts';
import { inputToChatMessages } from './input.ts';
import type { ResponsesRequest } from './request.ts';
import { toolFields } from './tools.ts';

/**
 * A Responses request in the canonical form. What needs stored state is refused with a hint what to do instead; what
 * the canonical form cannot express is dropped (docs/clients/differences.md lists it).
 */
export function responsesToChat(request: ResponsesRequest): ChatRequest {
  refuseStoredState(request);
  const messages = inputToChatMessages(request);
  if (messages.length === 0) {
    throw new Fault('invalid_field', 'input holds nothing that a model could read.', { param: 'input' });
  }
  return {
    model: request.model,
    messages,
    ...withoutAbsent({
      max_tokens: request.max_output_tokens,
      temperature: request.temperature,
      top_p: request.top_p,
      user: request.user,
      service_tier: request.service_tier,
      reasoning_effort: request.reasoning?.effort,
      verbosity: request.text?.verbosity,
      response_format: formatOf(request),
      ...logprobsOf(request),
    }),
    ...toolFields(request),
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function logprobsOf({ include, top_logprobs: top }: ResponsesRequest) {
  const wanted = include?.includes('message.output_text.logprobs') || (top ?? 0) > 0;
  return wanted ? { logprobs: true, top_logprobs: top ?? 0 } : {};
}

function refuseStoredState(request: ResponsesRequest): void {
  const stored = ['previous_response_id', 'conversation', 'prompt'] as const;
  const param =
    stored.find((field) => !isAbsent(request[field])) ?? (request.background ? 'background' : undefined);
  if (param === undefined) return;
  throw new Fault(
    'invalid_field',
    `Tollgate keeps no responses, so ${param} is not supported: ${ALTERNATIVES[param]}.`,
    { param },
  );
}

const ALTERNATIVES = {
  previous_response_id: 'send the whole conversation in input',
  conversation: 'send the whole conversation in input',
  prompt: 'send instructions and input',
  background: 'use stream: true for long answers',
};

function formatOf(request: ResponsesRequest): Record<string, unknown> | undefined {
  const format = request.text?.format;
  if (format?.type === 'json_object') return { type: 'json_object' };
  if (format?.type !== 'json_schema') return undefined;
  const { name, description, schema, strict } = format;
  return {
    type: 'json_schema',
    json_schema: { name: name ?? 'answer', ...withoutAbsent({ description, schema, strict }) },
  };
}
