import {
  JSON_FLAG,
  printResult,
  ServerUnavailable,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

export const healthCommand: CliCommand = {
  name: 'health',
  usage: '[--ready] [--json]',
  about:
    'check whether the server is alive, or with --ready whether it takes requests, for containers and service managers. Exit code 5 if not',
  flags: { ...JSON_FLAG, ready: { type: 'boolean' } },
  minArguments: 0,
  run: health,
};

const TIMEOUT_MS = 5_000;

async function health(input: CommandInput, context: CliContext): Promise<number> {
  const path = input.flags['ready'] === true ? '/readyz' : '/healthz';
  const { host, port } = context.address;
  const answer = await serverAnswer(context.address, path, TIMEOUT_MS);
  if (!answer) throw new ServerUnavailable(`Nothing answers on ${host} port ${port}.`);
  if (answer.status !== 200)
    throw new ServerUnavailable(`${path} answers ${answer.status}: ${answer.text.trim().slice(0, 200)}`);
  printResult(input, context, { ok: true, path }, [`${path} answers 200`]);
  return 0;
}

/** What a server of this machine answers, whichever scheme it speaks; `undefined`: nothing. */
export async function serverAnswer(
  { host, port }: CliContext['address'],
  path: string,
  timeoutMs: number,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  // A server that listens on all addresses is reached on loopback.
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const ask = async (scheme: string) => {
    const response = await fetch(`${scheme}://${name}:${port}${path}`, {
      tls: { rejectUnauthorized: false },
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'manual',
    });
    return { status: response.status, text: await response.text() };
  };
  const answers = await Promise.all(['http', 'https'].map((scheme) => ask(scheme).catch(() => undefined)));
  return answers.find((answer) => answer !== undefined);
}
