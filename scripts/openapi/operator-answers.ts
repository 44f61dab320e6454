import { join } from 'node:path';
import {
  API,
  TypeFlags,
  type Checker,
  type Symbol as TypeSymbol,
  type Type,
} from 'typescript/unstable/async';

type Json = Record<string, unknown>;

export interface AnswerSchemas {
  /** By the name of the route; null: it answers with a file. */
  readonly answers: Readonly<Record<string, Json | null>>;
  /** What several answers have in common, by the name of its type. */
  readonly schemas: Readonly<Record<string, Json>>;
}

const ROOT = join(import.meta.dir, '..', '..');
const PROBE = join(import.meta.dir, 'answer-types.ts');

/** What operations answer with, as JSON Schema: from the types of their handlers, by the compiler, with their comments. */
export async function operatorAnswers(): Promise<AnswerSchemas> {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] });
    const [project] = snapshot.getProjects();
    const file = await project?.program.getSourceFile(PROBE);
    const module = project && file && (await project.checker.getSymbolAtLocation(file));
    const named =
      module && [...(await module.getExports()).values()].find(({ name }) => name === 'OperatorAnswers');
    if (!project || !named) throw new Error(`no project has ${PROBE}`);
    const all = await project.checker.getDeclaredTypeOfSymbol(named);
    return await new AnswerReader(project.checker).read(all);
  } finally {
    await api.close();
  }
}

class AnswerReader {
  readonly #checker: Checker;
  readonly #schemas = new Map<string, Json>();
  readonly #names = new Map<number, string>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  async read(all: Type): Promise<AnswerSchemas> {
    const answers: Record<string, Json | null> = {};
    const routes = [...(await this.#checker.getPropertiesOfType(all))].toSorted(byName);
    for (const route of routes) {
      const type = await this.#typeOf(route);
      answers[route.name] = type.flags & TypeFlags.Never ? null : await this.#schema(type, route.name);
    }
    const schemas = [...this.#schemas].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return { answers, schemas: Object.fromEntries(schemas) };
  }

  async #typeOf(symbol: TypeSymbol): Promise<Type> {
    const type = await this.#checker.getTypeOfSymbol(symbol);
    if (!type) throw new Error(`${symbol.name} has no type`);
    return type;
  }

  /** `where` names the place in what is thrown. */
  async #schema(type: Type, where: string): Promise<Json> {
    const { flags } = type;
    if (flags & TypeFlags.AnyOrUnknown) return {};
    if (flags & TypeFlags.Null) return { type: 'null' };
    if (type.isStringLiteralType()) return { type: 'string', const: type.value };
    if (type.isNumberLiteralType()) return { type: 'number', const: type.value };
    if (type.isBooleanLiteralType()) return { type: 'boolean', const: type.value };
    if (flags & TypeFlags.StringLike) return { type: 'string' };
    if (flags & TypeFlags.NumberLike) return { type: 'number' };
    if (flags & TypeFlags.Boolean) return { type: 'boolean' };
    if (type.isUnionType()) return await this.#union(await type.getTypes(), where);
    if (type.isIntersectionType()) {
      const primitive = (await type.getTypes()).find((part) => part.flags & TypeFlags.Primitive);
      // A branded amount or id is what it is a brand of.
      return primitive ? await this.#schema(primitive, where) : await this.#object(type, where);
    }
    if (flags & TypeFlags.Object) return await this.#structure(type, where);
    throw new Error(`${where}: ${await this.#checker.typeToString(type)} has no form in JSON`);
  }

  async #union(types: readonly Type[], where: string): Promise<Json> {
    const present = types.filter(({ flags }) => !(flags & TypeFlags.VoidLike));
    const schemas: Json[] = [];
    for (const type of present) schemas.push(await this.#schema(type, where));
    const isNullable = schemas.some((one) => one['type'] === 'null');
    const rest = mergedLiterals(schemas.filter((one) => one['type'] !== 'null'));
    const [only] = rest;
    if (!isNullable) return rest.length === 1 && only ? only : { anyOf: rest };
    if (rest.length !== 1 || !only || typeof only['type'] !== 'string')
      return { anyOf: [...rest, { type: 'null' }] };
    const values = only['enum'] as unknown[] | undefined;
    return { ...only, type: [only['type'], 'null'], ...(values && { enum: [...values, null] }) };
  }

  async #structure(type: Type, where: string): Promise<Json> {
    if (await this.#checker.isTupleType(type)) {
      const items = await this.#argumentsOf(type);
      const { length } = items;
      return {
        type: 'array',
        items: await this.#union(items, `${where}[]`),
        minItems: length,
        maxItems: length,
      };
    }
    if (await this.#checker.isArrayType(type)) {
      const [item] = await this.#argumentsOf(type);
      return { type: 'array', items: item ? await this.#schema(item, `${where}[]`) : {} };
    }
    const name = await nameOf(type);
    if (name === undefined) return await this.#object(type, where);
    const known = this.#names.get(type.id);
    if (known !== undefined) return { $ref: `#/components/schemas/${known}` };
    let own = name;
    for (let count = 2; this.#schemas.has(own); count++) own = `${name}${count}`;
    this.#names.set(type.id, own);
    // Its place is taken before its fields are read, which may have it in them.
    this.#schemas.set(own, {});
    this.#schemas.set(own, await this.#object(type, own));
    return { $ref: `#/components/schemas/${own}` };
  }

  async #argumentsOf(type: Type): Promise<readonly Type[]> {
    return type.isTypeReference() ? await this.#checker.getTypeArguments(type) : [];
  }

  async #object(type: Type, where: string): Promise<Json> {
    const members = [...(await this.#checker.getPropertiesOfType(type))].toSorted(byName);
    const properties: Record<string, Json> = {};
    const required: string[] = [];
    for (const member of members) {
      const own = await this.#typeOf(member);
      const at = `${where}.${member.name}`;
      if ((await this.#checker.getSignaturesOfType(own, 0)).length > 0)
        throw new Error(`${at} is a function, which has no form in JSON`);
      if (own.flags & TypeFlags.VoidLike) continue;
      const comment = (await this.#checker.getDocumentationCommentOfSymbol(member))
        .replaceAll(/\s+/g, ' ')
        .trim();
      const schema = await this.#schema(own, at);
      properties[member.name] = comment === '' ? schema : { ...schema, description: comment };
      if (!(await mayBeAbsent(own))) required.push(member.name);
    }
    const [index] = await this.#checker.getIndexInfosOfType(type);
    return {
      type: 'object',
      ...(members.length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(index && { additionalProperties: await this.#schema(index.valueType, `${where}.*`) }),
    };
  }
}

/** JSON leaves out what is undefined. */
async function mayBeAbsent(type: Type): Promise<boolean> {
  if (type.flags & TypeFlags.VoidLike) return true;
  return (
    type.isUnionType() && (await type.getTypes()).some(({ flags }) => (flags & TypeFlags.VoidLike) !== 0)
  );
}

/** Literals of one kind are an enum; both booleans are any of them. */
function mergedLiterals(schemas: readonly Json[]): Json[] {
  const merged: Json[] = [];
  for (const type of ['string', 'number', 'boolean']) {
    const values = schemas.filter((one) => one['type'] === type && 'const' in one).map((one) => one['const']);
    if (values.length === 0) continue;
    if (type === 'boolean' && values.length === 2) merged.push({ type });
    else merged.push({ type, enum: values.toSorted((one, other) => (String(one) < String(other) ? -1 : 1)) });
  }
  return [...merged, ...schemas.filter((one) => !('const' in one))];
}

/** An interface or alias without arguments of its own. */
async function nameOf(type: Type): Promise<string | undefined> {
  const alias = await type.getAliasSymbol();
  if (alias && (await type.getAliasTypeArguments()).length === 0) return alias.name;
  const symbol = await type.getSymbol();
  if (!symbol || !type.isClassOrInterface() || (await type.getTypeParameters()).length > 0) return undefined;
  return symbol.name;
}

function byName({ name: one }: TypeSymbol, { name: other }: TypeSymbol): number {
  return one < other ? -1 : 1;
}
