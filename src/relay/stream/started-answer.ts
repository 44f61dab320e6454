import { UpstreamFailure, type ChatAnswer } from '../../upstream/port.ts';
import { readCompletion, type ChatEncoder } from '../../wire/openai/chat-stream.ts';
import type { ChatCompletion } from '../../wire/openai/chat.ts';
import type { EventSource, OpeningSignals } from './event-source.ts';
import { EventStream } from './event-stream.ts';
import { TypedStream } from './typed-stream.ts';

/** An answer that has shown to be one: nothing of it has reached the client yet. */
export type StartedAnswer = WholeAnswer | StreamAnswer;

export interface WholeAnswer {
  readonly kind: 'whole';
  readonly text: string;
  readonly completion: ChatCompletion;
  /** The text is in the client's own dialect already. */
  readonly passThrough?: boolean;
}

export interface StreamAnswer {
  readonly kind: 'stream';
  readonly events: EventSource;
  /** How its events reach the client, where that is not for the client's dialect to say. */
  readonly encoder?: (otherwise: ChatEncoder) => ChatEncoder;
}

/** Looks into a backend's answer far enough to know that it is one, while another backend could still be asked. */
export async function readFirstEvent(answer: ChatAnswer, signals: OpeningSignals): Promise<StartedAnswer> {
  switch (answer.kind) {
    case 'stream':
      return { kind: 'stream', events: await EventStream.open(answer.body, signals) };
    case 'events':
      return { kind: 'stream', events: await TypedStream.open(answer.events, signals) };
    case 'whole':
      return readWhole(decodeUtf8(answer.body));
    case 'completion':
      return { kind: 'whole', text: JSON.stringify(answer.completion), completion: answer.completion };
  }
}

function readWhole(text: string): WholeAnswer {
  const completion = readCompletion(text);
  if (!completion) throw new UpstreamFailure('protocol', 'the answer is not a chat completion');
  return { kind: 'whole', text, completion };
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new UpstreamFailure('protocol', 'the answer is not valid UTF-8', { cause });
  }
}
