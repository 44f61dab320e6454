/** Commands to house-echo: lines of the last user message that begin with a slash. The rest is text to echo. */
export interface Commands {
  readonly tools: readonly { readonly name: string; readonly arguments: string }[];
  readonly slowMs: number | undefined;
  readonly longTokens: number | undefined;
  readonly error: string | undefined;
  readonly json: boolean;
  readonly think: boolean;
  readonly see: boolean;
  readonly help: boolean;
  readonly text: string;
}

const MAX_SLOW_MS = 10_000;
const MAX_LONG_TOKENS = 100_000;
const MAX_TOOL_CALLS = 32;

export function parseCommands(message: string): Commands {
  const lines = message.split('\n').map((line) => ({ line, match: COMMAND.exec(line.trim()) }));
  const given = lines.flatMap(({ match }) =>
    match ? [{ name: match[1] ?? '', rest: (match[2] ?? '').trim() }] : [],
  );
  const last = (name: string): string | undefined => given.findLast((command) => command.name === name)?.rest;
  return {
    tools: given
      .filter((command) => command.name === 'tool')
      .slice(0, MAX_TOOL_CALLS)
      .map((command) => parseTool(command.rest)),
    slowMs: bounded(last('slow'), MAX_SLOW_MS),
    longTokens: bounded(last('long'), MAX_LONG_TOKENS),
    error: last('error')?.toLowerCase(),
    json: last('json') !== undefined,
    think: last('think') !== undefined,
    see: last('see') !== undefined,
    help: last('help') !== undefined,
    text: lines
      .flatMap(({ line, match }) => (match ? trailing(match) : [line]))
      .join('\n')
      .trim(),
  };
}

const COMMAND = /^\/(tool|slow|long|error|json|think|see|help)(?:\s+(.*))?$/;

/** `/think What is it?` is a command and a text on one line. */
function trailing(match: RegExpExecArray): string[] {
  const takesText = match[1] === 'think' || match[1] === 'json' || match[1] === 'see';
  const afterNumber = match[1] === 'slow' ? (match[2] ?? '').replace(/^\d+\s*/, '') : '';
  const text = takesText ? (match[2] ?? '') : afterNumber;
  return text === '' ? [] : [text];
}

function parseTool(rest: string): { name: string; arguments: string } {
  const [name = ''] = rest.split(/\s/, 1);
  return { name, arguments: rest.slice(name.length).trim() };
}

function bounded(text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number.parseInt(text, 10);
  return Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : undefined;
}
