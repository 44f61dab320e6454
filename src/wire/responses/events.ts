import type { OutputItem, OutputPart, ResponseObject, SummaryPart } from './answer.ts';

/** One event of a Responses stream. */
export type ResponsesEvent = NewEvent & { sequence_number: number };

export type NewEvent = ResponseEvent | ItemEvent | TextEvent | ReasoningEvent | CallEvent | ErrorEvent;

type ResponseEvent = {
  type:
    | 'response.created'
    | 'response.in_progress'
    | 'response.completed'
    | 'response.incomplete'
    | 'response.failed';
  response: ResponseObject;
};

type ItemEvent = {
  type: 'response.output_item.added' | 'response.output_item.done';
  output_index: number;
  item: OutputItem;
};

type InItem = { item_id: string; output_index: number };
type InContent = InItem & { content_index: number };
type InSummary = InItem & { summary_index: number };

type TextEvent =
  | (InContent & { type: 'response.content_part.added' | 'response.content_part.done'; part: OutputPart })
  | (InContent & { type: 'response.output_text.delta'; delta: string; logprobs: readonly unknown[] })
  | (InContent & { type: 'response.output_text.done'; text: string; logprobs: readonly unknown[] })
  | (InContent & {
      type: 'response.output_text.annotation.added';
      annotation_index: number;
      annotation: unknown;
    })
  | (InContent & { type: 'response.refusal.delta'; delta: string })
  | (InContent & { type: 'response.refusal.done'; refusal: string });

type ReasoningEvent =
  | (InSummary & {
      type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      part: SummaryPart;
    })
  | (InSummary & { type: 'response.reasoning_summary_text.delta'; delta: string })
  | (InSummary & { type: 'response.reasoning_summary_text.done'; text: string });

type CallEvent =
  | (InItem & { type: 'response.function_call_arguments.delta'; delta: string })
  | (InItem & { type: 'response.function_call_arguments.done'; name: string; arguments: string })
  | (InItem & { type: 'response.custom_tool_call_input.delta'; delta: string })
  | (InItem & { type: 'response.custom_tool_call_input.done'; input: string });

/** Flat as documented, nested as OpenAI sends it: SDKs read one or the other. */
type ErrorEvent = {
  type: 'error';
  code: string;
  message: string;
  param: string | null;
  error: { code: string; message: string; type: string; param: string | null };
};
