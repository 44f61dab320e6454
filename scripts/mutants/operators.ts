import { parseSync } from 'oxc-parser';

/** One small change of a source file that some test should notice. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The source line, trimmed: with `change` it names the mutant wherever the line moves. */
  readonly source: string;
  readonly change: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** In the place of a statement, which may be the only one of its `if`. */
const REMOVED = ';';

/** Every mutant of a file, in the order of its text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const edits: Edit[] = [];
  visit(program as unknown as Node, text, edits);
  const mutants = edits
    .filter(({ start, end, replacement }) => text.slice(start, end) !== replacement)
    .map((edit) => ({ file, ...edit, ...placeOf(text, edit) }));
  return withOwnNames(mutants);
}

/** The same change at two places of one line is numbered from the second one on, so that each has a name. */
function withOwnNames(mutants: readonly Mutant[]): Mutant[] {
  const seen = new Map<string, number>();
  return mutants.map((mutant) => {
    const name = `${mutant.line} ${mutant.change}`;
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    return number === 1 ? mutant : { ...mutant, change: `${mutant.change} #${number}` };
  });
}

function placeOf(text: string, { start, end, replacement }: Edit) {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const lineEnd = text.indexOf('\n', start);
  const short = (part: string): string => part.replace(/\s+/g, ' ').slice(0, 120);
  return {
    line: text.slice(0, start).split('\n').length,
    source: text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).trim(),
    change: `${short(text.slice(start, end))} → ${replacement === REMOVED ? '(removed)' : short(replacement)}`,
  };
}

/** Only what runs: types and imports change nothing, and texts for people are not behaviour. */
function visit(node: Node, text: string, edits: Edit[]): void {
  if (SKIPPED.has(node.type) || (node.type.startsWith('TS') && !TRANSPARENT.has(node.type))) return;
  if (isPacing(node)) return;
  edits.push(...(OPERATORS[node.type]?.(node, text) ?? []));
  for (const [key, value] of Object.entries(node)) {
    if (node.type === 'CallExpression' && key === 'arguments' && isLogCall(node, text)) continue;
    const children = Array.isArray(value) ? value : [value];
    const texts = key === 'arguments' && isFailure(node, text);
    for (const child of children) {
      if (!isNode(child)) continue;
      if (texts && isText(child)) continue;
      if (isFallback(node, key)) continue;
      // A key is a name, unless it is computed.
      if (key === 'key' && node['computed'] !== true) continue;
      visit(child, text, edits);
    }
  }
}

const SKIPPED = new Set(['ImportDeclaration', 'ExportAllDeclaration']);
const TRANSPARENT = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/**
 * How long is waited, how much goes into one batch, buffer or cache, how many connections there are: one more or less of
 * many is no other behaviour, and a test that noticed would measure time or memory. Whether such a bound works at all is
 * asked where it is used. Times that a client reads (`retry`, `later`) and days and months of the books are left in.
 */
const PACING =
  /(_MS|_BYTES|_CHARACTERS|_TOGETHER|_BATCH|_CONNECTIONS|_KNOWN|_CACHED|_REMEMBERED|_NUMBERS|_VIEWS|_WAITING|_QUEUE)$/;
/** The same, as fields of one constant. */
const PACING_FIELD = /^(?!retry)(waiting|.+(Ms|Bytes|Characters))$/;
const PROMISED = /RETRY|LATER|DAY|KEPT/;

const isPacingName = (node: unknown): boolean =>
  isNode(node) &&
  node.type === 'Identifier' &&
  PACING.test(String(node['name'])) &&
  !PROMISED.test(String(node['name']));

function isPacing({ type, id, init, key, value }: Node): boolean {
  if (type === 'VariableDeclarator') return isPacingName(id) && isNode(init) && isNumber(init);
  return (
    type === 'Property' &&
    isNode(key) &&
    PACING_FIELD.test(String(key['name'])) &&
    isNode(value) &&
    isNumber(value) &&
    Number(value['value']) >= LEAST_PACED
  );
}

/** Nothing, and one, are other behaviour. */
const LEAST_PACED = 10;

const isNumber = ({ type, value }: Node): boolean => type === 'Literal' && typeof value === 'number';

/**
 * The compiler cannot know that a place of a list is filled (`bytes[at] ?? 0`, `const [first = ''] = …`): the fallback is
 * there for its sake and is never used. A key of a record may well be missing, so only places that are counted are meant.
 */
function isFallback(node: Node, key: string): boolean {
  if (node.type === 'LogicalExpression')
    return node['operator'] === '??' && key === 'right' && isCountedPlace(node['left']);
  return node.type === 'ArrayPattern' && key === 'elements';
}

function isCountedPlace(node: unknown): boolean {
  if (!isNode(node) || node.type !== 'MemberExpression' || node['computed'] !== true) return false;
  const { property } = node;
  if (!isNode(property)) return false;
  if (property.type === 'Identifier') return COUNTERS.has(String(property['name']));
  return ['BinaryExpression', 'UpdateExpression'].includes(property.type) || isNumber(property);
}

const COUNTERS = new Set(['at', 'index', 'n', 'place', 'slot', 'bucket']);

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

function isLogCall(node: Node, text: string): boolean {
  return isNode(node['callee']) && /\blog\.\w+$/.test(textOf(node['callee'], text));
}

/** An error calls the operator, and its absence would be noticed; other lines are read by who looks for them. */
function isNote(node: Node, text: string): boolean {
  return isNode(node['callee']) && /\blog\.(info|warn)$/.test(textOf(node['callee'], text));
}

function isFailure(node: Node, text: string): boolean {
  return (
    isNode(node['callee']) &&
    /((Error|Fault|Failure|Failed|Refused)|^(unavailable|refused|timeout))$/.test(
      textOf(node['callee'], text),
    )
  );
}

/** A code is one word, and is behaviour. */
function isText({ type, value }: Node): boolean {
  return type === 'TemplateLiteral' || (type === 'Literal' && String(value).includes(' '));
}

const textOf = ({ start, end }: Node, text: string): string => text.slice(start, end);

type Operator = (node: Node, text: string) => Edit[];

const SWAPS: Record<string, readonly string[]> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
};

const BOUNDS = new Set(['<', '<=', '>', '>=']);

const CALLS: Record<string, string> = {
  'Math.min': 'Math.max',
  'Math.max': 'Math.min',
  'Math.ceil': 'Math.floor',
  'Math.floor': 'Math.ceil',
};

const OPERATORS: Record<string, Operator> = {
  BinaryExpression: swapped,
  LogicalExpression: swapped,
  AssignmentExpression: swapped,
  IfStatement: (node, text) => [...negated(node, text), ...withoutGuard(node)],
  ConditionalExpression: negated,
  UnaryExpression: (node, text) =>
    node['operator'] === '!' && isNode(node['argument'])
      ? [replace(node, textOf(node['argument'], text))]
      : [],
  UpdateExpression: (node, text) => {
    const source = textOf(node, text);
    return [replace(node, source.includes('++') ? source.replace('++', '--') : source.replace('--', '++'))];
  },
  Literal: (node, text) => literal(node, textOf(node, text)),
  CallExpression(node, text) {
    const { callee } = node;
    const other = isNode(callee) ? CALLS[textOf(callee, text)] : undefined;
    return isNode(callee) && other !== undefined ? [replace(callee, other)] : [];
  },
  ExpressionStatement: (node, text) =>
    isNode(node['expression']) && isEffect(node['expression']) && !isNote(node['expression'], text)
      ? [replace(node, REMOVED)]
      : [],
};

const replace = ({ start, end }: Pick<Node, 'start' | 'end'>, replacement: string): Edit => ({
  start,
  end,
  replacement,
});

function swapped(node: Node, text: string): Edit[] {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right) || typeof operator !== 'string') return [];
  const at = text.indexOf(operator, left.end);
  if (at < 0 || at >= right.start) return [];
  const swaps = SWAPS[operator] ?? [];
  // The first swap of a bound moves it by one.
  const others = BOUNDS.has(operator) && [left, right].some(isPacingName) ? swaps.slice(1) : swaps;
  return others.map((other) => replace({ start: at, end: at + operator.length }, other));
}

function negated({ test }: Node, text: string): Edit[] {
  return isNode(test) ? [replace(test, `!(${textOf(test, text)})`)] : [];
}

/** `if (…) return …;` and its like, gone. */
function withoutGuard(node: Node): Edit[] {
  const { consequent, alternate } = node;
  if (!isNode(consequent) || isNode(alternate)) return [];
  const [only] = consequent.type === 'BlockStatement' ? (consequent['body'] as Node[]) : [consequent];
  const leaves = ['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement'];
  return only && leaves.includes(only.type) ? [replace(node, REMOVED)] : [];
}

function literal(node: Node, source: string): Edit[] {
  const { value } = node;
  if (typeof value === 'boolean') return [replace(node, String(!value))];
  if (typeof value === 'string') return value === '' ? [] : [replace(node, `''`)];
  if (typeof value === 'number' || typeof value === 'bigint')
    return [replace(node, `(${source} + ${one(value)})`), replace(node, `(${source} - ${one(value)})`)];
  return [];
}

const one = (value: number | bigint): string => (typeof value === 'bigint' ? '1n' : '1');

function isEffect(expression: Node): boolean {
  if (expression.type === 'AwaitExpression' || expression.type === 'UnaryExpression')
    return isNode(expression['argument']) && isEffect(expression['argument']);
  if (expression.type === 'ChainExpression')
    return isNode(expression['expression']) && isEffect(expression['expression']);
  return ['CallExpression', 'AssignmentExpression', 'UpdateExpression'].includes(expression.type);
}
