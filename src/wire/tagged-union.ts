import { z } from 'zod';

/** An object of a type that is not in the table. */
export interface UnknownVariant {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * Objects told apart by `type`, from a table instead of a union: an error is reported where it is, not as «no option
 * matched», and types that are not in the table pass. `untagged` is the type of an object without one.
 */
export function taggedUnion<T extends Record<string, z.ZodType<{ type: string }>>>(
  known: T,
  untagged?: keyof T & string,
): z.ZodType<z.infer<T[keyof T]> | UnknownVariant> {
  const type = untagged === undefined ? z.string() : z.string().default(untagged);
  return z.looseObject({ type }).transform((value, context) => {
    const schema = Object.hasOwn(known, value.type) ? known[value.type] : undefined;
    if (!schema) return value;
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    // Without `continue`, a union around this would hide these issues behind its own.
    for (const issue of result.error.issues) context.addIssue({ ...issue, continue: true });
    return value;
  });
}
