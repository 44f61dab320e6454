import type { z } from 'zod';
import { Fault } from '../std/fault.ts';

/** Checks a body against its schema; the first mistake is told with the path of its field. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.map(String).join('.') ?? '';
  if (issue?.code === 'invalid_type' && issue.input === undefined && at(value, issue.path) === undefined) {
    throw new Fault('missing_field', `${param} is required.`, { param });
  }
  throw new Fault('invalid_field', `${param}: ${issue?.message ?? 'is not valid'}`, { param });
}

/** `null` means absent, at the top level of a request: what is absent is not sent on. */
export function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    if (value[key] !== null) continue;
    copy ??= { ...value };
    delete copy[key];
  }
  return copy ?? value;
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let here: unknown = value;
  for (const key of path)
    here =
      typeof here === 'object' && here !== null ? (here as Record<PropertyKey, unknown>)[key] : undefined;
  return here;
}
