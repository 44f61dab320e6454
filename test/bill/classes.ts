import {
  CHAT_DIALECTS,
  HALFWAY,
  LAST,
  STREAM_STAGES,
  WHOLE_STAGES,
  type Answer,
  type Ask,
  type Dialect,
  type Plan,
  type Stage,
  type Verdict,
} from './plan.ts';
import type { Random } from './random.ts';

/** In which dialects and forms the requests of a class are made, and when their client leaves. */
interface Ways {
  readonly dialects: readonly Dialect[];
  readonly forms: readonly ('whole' | 'streamed')[];
  readonly stages: readonly Stage[];
}

/** A class of requests: what they have in common. */
export interface BillClass {
  readonly name: string;
  readonly verdict: Verdict;
  readonly ways: Ways;
  make(random: Random): Content;
}

/** What a class decides about a request; the rest follows from its dialect, form and stage. */
export interface Content {
  readonly model: string;
  readonly ask?: Partial<Ask>;
  readonly answer?: Partial<Answer>;
  readonly balance?: string;
}

export type Variant = Pick<Plan, 'dialect' | 'streamed' | 'leave'>;

/** Every way in which a request of the class can be made. */
export function variantsOf({ ways: { dialects, forms, stages } }: BillClass): Variant[] {
  return dialects.flatMap((dialect) =>
    forms.flatMap((form) =>
      stages
        .filter((stage) => stage === 'never' || isStageOf(form, stage))
        .map((leave) => ({ dialect, streamed: form === 'streamed', leave })),
    ),
  );
}

function isStageOf(form: 'whole' | 'streamed', stage: Stage): boolean {
  const stages: readonly Stage[] = form === 'whole' ? WHOLE_STAGES : STREAM_STAGES;
  return stages.includes(stage);
}

export function planOf(one: BillClass, variant: Variant, id: number, random: Random): Plan {
  const { model, ask, answer, balance } = one.make(random);
  return {
    id,
    className: one.name,
    verdict: one.verdict,
    model,
    balance,
    ...variant,
    ask: { prompt: random.prose(random.integer(200, 1_200)), ...ask },
    answer: { kind: 'text', text: answerText(random), usage: 'true', ...answer },
  };
}

/** Some two hundred tokens, with the word in their middle at which clients leave. */
export function answerText(random: Random, words = random.integer(60, 120)): string {
  return `${random.prose(words)} ${HALFWAY} ${random.prose(words)} ${LAST}`;
}

/** Arguments of a tool call. */
export function argumentsText(random: Random): string {
  return JSON.stringify({ query: answerText(random) });
}

/** A class that is made in all the usual ways, but for those that it names. */
export function classMaker(verdict: Verdict, usual: Ways) {
  return (name: string, make: BillClass['make'], ways: Partial<Ways> = {}): BillClass => ({
    name,
    verdict,
    make,
    ways: { ...usual, ...ways },
  });
}

/** Several megabytes, which is more than the buffers between the gateway and a client that does not read hold. */
export function unreadContent(random: Random): Content {
  return {
    model: 'plain',
    ask: { stopsReading: true, maxTokens: 16_000, more: { logprobs: true, top_logprobs: 20 } },
    answer: { logprobs: true, text: answerText(random, 700) },
  };
}

/** As many tokens, in dialects that have no logprobs: the bytes to the client are fewer, those of the backend need not be. */
export function unreadText(random: Random): Content {
  return {
    model: plainOrClaude(random),
    ask: { stopsReading: true, maxTokens: 16_000 },
    answer: { text: answerText(random, 700) },
  };
}

export function plainOrClaude(random: Random): string {
  return random.pick(['plain', 'claude']);
}

export const OPENAI_DIALECTS = ['public', 'v1'] as const;
export const BOTH = ['whole', 'streamed'] as const;
export const STREAMED = ['streamed'] as const;
export const NEVER = ['never'] as const;

export const finished = classMaker('exact', { dialects: CHAT_DIALECTS, forms: BOTH, stages: NEVER });
export const left = classMaker('left', { dialects: CHAT_DIALECTS, forms: STREAMED, stages: STREAM_STAGES });
