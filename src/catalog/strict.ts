import { z } from 'zod';

/** Unknown keys are refused everywhere: a mistyped `cached_inptu` would otherwise be a wrong price. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? `unknown key; known here: ${known}` : undefined),
  });
}
