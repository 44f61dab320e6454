import { CALL_INPUT, JSON_ANSWER, PICTURE_ANSWER, THOUGHT, WHOLE_ANSWER } from '../providers/model-reply.ts';
import { StrictBedrock } from '../providers/bedrock.ts';
import { TOO_LONG, type BilledCall, type ProviderFailure, type StandIn } from '../providers/stand-in.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { allCases, type Feature, type MatrixCase } from './cases.ts';
import { MATRIX_DIALECTS, type Json, type ReadAnswer } from './dialects.ts';
import { MATRIX_PROVIDERS, type MatrixModel, type MatrixProvider } from './providers.ts';

/** What became of one case: served as it should be, refused with a reason, or wrong. */
export type MatrixOutcome =
  /** `unanswered`: nothing had reached the client when the provider failed. */
  | { readonly kind: 'served'; readonly unanswered?: true }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'wrong'; readonly why: string };

interface Member {
  readonly provider: MatrixProvider;
  readonly standIn: StandIn;
  readonly account: TestAccount;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

const FAILURES: Readonly<Partial<Record<Feature, ProviderFailure>>> = {
  400: 400,
  401: 401,
  429: 429,
  500: 500,
  'error in a stream': 'late_event',
};
/** One and two dollars per million tokens, in nano-dollars per token. */
const INPUT_NANO = 1_000;
const OUTPUT_NANO = 2_000;

/** One gateway with every strict stand-in behind it. Cases of one provider must run one after the other. */
export class Matrix {
  readonly #gateway: Gateway;
  readonly #members: ReadonlyMap<string, Member>;

  private constructor(gateway: Gateway, members: ReadonlyMap<string, Member>) {
    this.#gateway = gateway;
    this.#members = members;
  }

  static async start(): Promise<Matrix> {
    const started = MATRIX_PROVIDERS.map((provider) => ({
      provider,
      standIn: provider.start(namesOf(provider)),
    }));
    const access = started.map(({ standIn }) => standIn).find((one) => one instanceof StrictBedrock)?.access;
    const env = {
      KEY: started[0]?.standIn.key ?? '',
      AWS_KEY_ID: access?.accessKeyId ?? '',
      AWS_SECRET: access?.secretAccessKey ?? '',
    };
    const gateway = await Gateway.start({ yaml: catalogOf(started), env });
    const members = new Map<string, Member>();
    for (const one of started)
      members.set(one.provider.name, { ...one, account: await gateway.account('1000') });
    return new Matrix(gateway, members);
  }

  async stop(): Promise<readonly unknown[]> {
    const { breaches } = await this.#gateway.verify();
    await this.#gateway.stop();
    for (const { standIn } of this.#members.values()) await standIn.stop();
    return breaches;
  }

  async run(one: MatrixCase): Promise<MatrixOutcome> {
    const member = this.#members.get(one.provider)!;
    const { standIn, account } = member;
    standIn.failure = FAILURES[one.feature];
    const billed = standIn.invoice.length;
    const before = await this.#gateway.money(account);
    const outcome = await this.#ask(one, member);
    standIn.failure = undefined;
    await this.#gateway.settled(account);
    const after = await this.#gateway.money(account);
    if (outcome.kind === 'wrong') return outcome;
    const wrong = wrongMoney(one, {
      paid: before.balance - after.balance,
      held: after.held,
      invoiced: isFree(outcome) ? 0 : costOf(standIn.invoice.slice(billed)),
    });
    return wrong ?? outcome;
  }

  async #ask(one: MatrixCase, member: Member): Promise<MatrixOutcome> {
    const dialect = MATRIX_DIALECTS[one.dialect];
    const stream = one.mode === 'stream';
    const model = `${one.provider}/${modelFor(one)}`;
    const request = { ...dialect.request(one.feature), model, ...(stream && { stream }) };
    const first = await this.#post(one, request, member);
    const failure = FAILURES[one.feature];
    if (typeof failure === 'number') return failedOutcome(one, first, failure);
    // A network may hand over what was said and the error in one piece; then it is as if nothing had been said.
    if (failure !== undefined && first.status === 500) return failedOutcome(one, first, 500);
    if (first.status === 400) return { kind: 'refused', reason: reasonOf(first.text) };
    if (first.status !== 200) return wrong(`status ${first.status}: ${first.text.slice(0, 300)}`);
    const answer = read(one, first.text);
    const why = wrongAnswer(one, answer, member.provider);
    if (why !== undefined) return wrong(`${why} in ${first.text.slice(0, 600)}`);
    if (answer.calls.length === 0) return { kind: 'served' };
    const second = await this.#post(one, dialect.withResults(request, answer.calls), member);
    if (second.status !== 200)
      return wrong(`with results: status ${second.status}: ${second.text.slice(0, 300)}`);
    const last = read(one, second.text);
    return last.text === WHOLE_ANSWER && last.finish === 'stop' && !last.failed
      ? { kind: 'served' }
      : wrong(`with results: ${second.text.slice(0, 300)}`);
  }

  async #post(one: MatrixCase, body: Json, { account }: Member): Promise<Answered> {
    const response = await this.#gateway.post(MATRIX_DIALECTS[one.dialect].path, account.token, body);
    return { status: response.status, text: await response.text() };
  }
}

function isFree(outcome: MatrixOutcome): boolean {
  return outcome.kind === 'refused' || (outcome.kind === 'served' && outcome.unanswered === true);
}

function wrong(why: string): MatrixOutcome {
  return { kind: 'wrong', why };
}

/** A model for each failing case, so that what rests after one does not hide the next. */
function aliasOf({ feature, dialect, mode }: Pick<MatrixCase, 'feature' | 'dialect' | 'mode'>): string {
  return `fails_${feature.replaceAll(' ', '_')}_${dialect}_${mode}`;
}

function modelFor(one: MatrixCase): string {
  if (FAILURES[one.feature] !== undefined) return aliasOf(one);
  if (one.feature === 'image in') return 'seeing';
  return one.feature === 'reasoning' ? 'thinking' : 'plain';
}

function aliasesOf({ name }: MatrixProvider): string[] {
  return allCases([name])
    .filter(({ feature }) => FAILURES[feature] !== undefined)
    .map(aliasOf);
}

function namesOf(provider: MatrixProvider): Record<string, string> {
  const own = [provider.plain, provider.seeing, provider.thinking].map(({ name }) => [name, name]);
  const failing = aliasesOf(provider).map((alias) => [alias, provider.plain.name]);
  return Object.fromEntries([...own, ...failing]) as Record<string, string>;
}

function catalogOf(started: readonly { provider: MatrixProvider; standIn: StandIn }[]): string {
  const prices = `input: ${INPUT_NANO / 1_000}, output: ${OUTPUT_NANO / 1_000}, context: 200000, vision: true, tools: true`;
  const entry = (id: string, { name, maxOutput }: MatrixModel, upstream: string) =>
    `    - { model: ${id}, ${prices}, max_output: ${maxOutput}, upstream_models: { ${upstream}: "${name}" } }`;
  return [
    'upstreams:',
    ...started.map(
      ({ provider, standIn }) => `  ${provider.name}: { ${provider.entry}, base_url: "${standIn.baseUrl}" }`,
    ),
    'lists:',
    ...started.flatMap(({ provider }) => [
      `  ${provider.name}:`,
      entry('plain', provider.plain, provider.name),
      entry('seeing', provider.seeing, provider.name),
      entry('thinking', provider.thinking, provider.name),
      ...aliasesOf(provider).map((alias) => entry(alias, { ...provider.plain, name: alias }, provider.name)),
    ]),
    'endpoints:',
    ...started.map(
      ({ provider: { name } }) =>
        `  ${name}: { name: ${name}, type: chat_completion, lists: [${name}], upstreams: [${name}] }`,
    ),
  ].join('\n');
}

function read(one: MatrixCase, text: string): ReadAnswer {
  const dialect = MATRIX_DIALECTS[one.dialect];
  if (one.mode === 'whole') return dialect.readWhole(JSON.parse(text) as Json);
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Json);
  return dialect.readStream(events, text);
}

/** What is wrong with an answer that came with 200. */
function wrongAnswer(
  { feature }: MatrixCase,
  answer: ReadAnswer,
  provider: MatrixProvider,
): string | undefined {
  if (feature === 'error in a stream') return answer.failed ? undefined : 'the stream looks whole';
  if (answer.failed) return 'the answer did not end';
  switch (feature) {
    case 'capped':
      return answer.finish === 'length' && answer.text !== '' && WHOLE_ANSWER.startsWith(answer.text)
        ? undefined
        : `capped: finish ${answer.finish}`;
    case 'tools':
      return wrongCalls(answer, ['get_weather']);
    case 'parallel tools':
      return wrongCalls(answer, ['get_weather', 'get_time']);
    case 'image in':
      return wrongText(answer, PICTURE_ANSWER);
    case 'JSON object':
    case 'JSON schema':
      return wrongText(answer, JSON_ANSWER);
    case 'reasoning':
      if (provider.showsThoughts && answer.thought !== THOUGHT) return `thought '${answer.thought}'`;
      return wrongText(answer, WHOLE_ANSWER);
    case 'plain':
    case '400':
    case '401':
    case '429':
    case '500':
      return wrongText(answer, WHOLE_ANSWER);
  }
}

function wrongText({ text, finish }: ReadAnswer, expected: string): string | undefined {
  return text === expected && finish === 'stop' ? undefined : `text '${text}', finish ${finish}`;
}

function wrongCalls({ calls, finish }: ReadAnswer, names: readonly string[]): string | undefined {
  const isSame =
    calls.length === names.length &&
    calls.every(({ id, name, input }, index) => {
      return id !== '' && name === names[index] && JSON.stringify(JSON.parse(input)) === CALL_INPUT;
    });
  const ids = new Set(calls.map(({ id }) => id));
  return isSame && ids.size === calls.length && finish === 'tool_calls'
    ? undefined
    : `calls ${JSON.stringify(calls)}, finish ${finish}`;
}

const SECRETS = ['status.example', 'sk-internal', 'Overloaded', 'API key', 'security token'];

/** The client may read why its own request was refused; everything else is the operator's. */
function failedOutcome({ dialect }: MatrixCase, { status, text }: Answered, failure: number): MatrixOutcome {
  const secret = SECRETS.find((words) => text.includes(words));
  if (secret !== undefined) return wrong(`'${secret}' reached the client`);
  if (failure === 400)
    return status === 400 && text.includes(TOO_LONG)
      ? { kind: 'served' }
      : wrong(`status ${status}: ${text}`);
  const body = JSON.parse(text) as { type?: string; error?: { code?: string; type?: string } };
  const isShaped = dialect === 'messages' ? body.type === 'error' : body.error?.code === 'upstream_error';
  return status === 500 && isShaped
    ? { kind: 'served', unanswered: true }
    : wrong(`status ${status}: ${text}`);
}

function reasonOf(text: string): string {
  const { error } = JSON.parse(text) as { error?: { message?: string } };
  return error?.message ?? text;
}

interface MoneyAfter {
  readonly paid: number;
  readonly held: number;
  readonly invoiced: number;
}

/** A stream that broke has no usage: what arrived is counted by the gateway itself. */
function wrongMoney(
  { feature }: MatrixCase,
  { paid, held, invoiced }: MoneyAfter,
): MatrixOutcome | undefined {
  if (held !== 0) return wrong(`${held} nano-dollars are still held`);
  if (feature === 'error in a stream' && invoiced > 0)
    return paid > 0 ? undefined : wrong('a broken stream was not charged');
  return paid === invoiced ? undefined : wrong(`charged ${paid} nano-dollars, invoiced ${invoiced}`);
}

function costOf(bills: readonly BilledCall[]): number {
  return bills.reduce(
    (sum, bill) => sum + (bill.kind === 'chat' ? bill.input * INPUT_NANO + bill.output * OUTPUT_NANO : 0),
    0,
  );
}
