/**
 * The part of GraphQL that Prisma's client for Python writes, as Prisma's JSON protocol: one field with its alias, values
 * as arguments, nested selections.
 */
export interface JsonQuery {
  readonly modelName?: string;
  readonly action: string;
  readonly query: Selected;
}

interface Selected {
  readonly arguments: Readonly<Record<string, Value>>;
  readonly selection: Readonly<Record<string, true | Selected>>;
}

type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|([{}()[\]:,])|$)/y;
/** Longest first: `createMany` begins with `create`. */
const ACTIONS = [
  'findUniqueOrThrow',
  'findFirstOrThrow',
  'findUnique',
  'findFirst',
  'findMany',
  'createMany',
  'createOne',
  'updateMany',
  'updateOne',
  'upsertOne',
  'deleteMany',
  'deleteOne',
  'aggregate',
  'groupBy',
  'queryRaw',
  'executeRaw',
];

export function toJsonQuery(text: string): JsonQuery {
  const reader = new Reader(text);
  // query { result: findUniqueThing ( … ) { … } }
  if (!reader.accept('query')) reader.accept('mutation');
  reader.expect('{');
  const first = reader.name();
  const field = reader.accept(':') ? reader.name() : first;
  const query = reader.selected();
  const action = ACTIONS.find((one) => field.startsWith(one));
  if (action === undefined) throw new Error(`no such action: ${field}`);
  const modelName = field.slice(action.length);
  return { ...(modelName === '' ? {} : { modelName }), action, query };
}

class Reader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    const tokens: string[] = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const before = TOKEN.lastIndex;
      const token = TOKEN.exec(text)?.[0].trim();
      if (token === undefined) throw new Error(`unreadable at ${before}: ${text.slice(before, before + 40)}`);
      if (token !== '' && token !== ',') tokens.push(token);
    }
    this.#tokens = tokens;
  }

  get #next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  accept(token: string): boolean {
    if (this.#next !== token) return false;
    this.#at++;
    return true;
  }

  expect(token: string): void {
    if (!this.accept(token)) throw new Error(`${token} was expected instead of ${this.#next}`);
  }

  name(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  selected(): Selected {
    const args = this.accept('(') ? this.#fields(')') : {};
    const selection: Record<string, true | Selected> = {};
    if (this.accept('{')) {
      while (!this.accept('}')) {
        const name = this.name();
        const isNested = this.#next === '(' || this.#next === '{';
        selection[name] = isNested ? this.selected() : true;
      }
    }
    return { arguments: args, selection };
  }

  #fields(end: string): Record<string, Value> {
    const fields: Record<string, Value> = {};
    while (!this.accept(end)) {
      const name = this.name();
      this.expect(':');
      fields[name] = this.#value();
    }
    return fields;
  }

  #value(): Value {
    if (this.accept('{')) return this.#fields('}');
    if (this.accept('[')) {
      const items: Value[] = [];
      while (!this.accept(']')) items.push(this.#value());
      return items;
    }
    const token = this.name();
    // Strings, numbers, true, false and null are JSON; a bare name is a value of an enumeration.
    return /^(?:["\d-]|true$|false$|null$)/.test(token) ? (JSON.parse(token) as Value) : token;
  }
}

/**
 * The JSON protocol marks dates and the like with their type, which GraphQL does not. JSON stays a text, but in the rows
 * of raw queries.
 */
export function withoutTypes(value: unknown, isRaw: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTypes(item, isRaw));
  if (typeof value !== 'object' || value === null) return value;
  if ('$type' in value && 'value' in value)
    return isRaw && value.$type === 'Json' ? JSON.parse(String(value.value)) : value.value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutTypes(inner, isRaw)]));
}
