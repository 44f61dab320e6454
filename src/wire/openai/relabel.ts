/**
 * Replaces the backend's `id` and `model` in JSON text without printing it anew. Inside JSON strings quotes are escaped,
 * so `"id":"…"` can only be the real key; whatever is spaced, escaped or missing goes the slow way through the parsed
 * object.
 */
export function relabeller(labels: { readonly id: string; readonly model: string }) {
  const idText = `"id":${JSON.stringify(labels.id)}`;
  const modelText = `"model":${JSON.stringify(labels.model)}`;
  return (text: string, parsed: { id?: unknown; model?: unknown }): string => {
    const { id, model } = parsed;
    if (typeof id === 'string' && typeof model === 'string') {
      const half = replaced(text, `"id":"${id}"`, idText);
      const whole = half === undefined ? undefined : replaced(half, `"model":"${model}"`, modelText);
      if (whole !== undefined) return whole;
    }
    return JSON.stringify({ ...parsed, ...labels });
  };
}

function replaced(text: string, old: string, by: string): string | undefined {
  const at = text.indexOf(old);
  return at === -1 ? undefined : text.slice(0, at) + by + text.slice(at + old.length);
}
