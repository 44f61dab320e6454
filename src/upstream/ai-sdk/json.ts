import type { JSONObject } from '@ai-sdk/provider';

/** Whether parsed JSON is an object; arrays and null are not. */
export function isObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Text that should be a JSON object, or undefined. */
export function parseObject(text: string): JSONObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Input from outside is often not JSON.
    return undefined;
  }
}

/** A shallow copy without undefined values, as JSON would drop them. */
export function defined(fields: Record<string, JSONObject[string] | undefined>): JSONObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
