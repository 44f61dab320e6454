import { useState } from 'react';
import type { Endpoint, Parameter } from './openapi.ts';

interface Trial {
  readonly endpoint: Endpoint;
  readonly parameters: readonly Parameter[];
  readonly values: Readonly<Record<string, string>>;
  readonly token: string;
  readonly body: string;
}

export interface Tried {
  readonly status: number;
  readonly durationMs: number;
  readonly headers: string;
  readonly text: string;
  readonly pictures: readonly string[];
}

const MAX_SHOWN = 200_000;
const TOLD_HEADERS = /^(x-request-id|x-tollgate-|x-ratelimit-|retry-after|content-type)/;

/** Sends the request as a program would: with the token alone, without the session of this page. */
export function useTry() {
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState<Tried>();
  const [error, setError] = useState<Error>();
  const send = async (trial: Trial): Promise<void> => {
    setBusy(true);
    setError(undefined);
    setTried(undefined);
    try {
      await attempt(trial, setTried);
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    } finally {
      setBusy(false);
    }
  };
  return { busy, tried, error, send };
}

async function attempt(trial: Trial, onTried: (tried: Tried) => void): Promise<void> {
  const { endpoint, parameters, values, token, body } = trial;
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ''),
  );
  const headers = new Headers(token ? { authorization: `Bearer ${token}` } : {});
  for (const { name, in: place } of parameters)
    if (place === 'header' && values[name]) headers.set(name, values[name]);
  if (body) headers.set('content-type', 'application/json');
  const startedAt = performance.now();
  const response = await fetch(path, {
    method: endpoint.method,
    credentials: 'omit',
    headers,
    ...(body ? { body } : {}),
  });
  const told = [...response.headers]
    .filter(([name]) => TOLD_HEADERS.test(name))
    .map(([name, value]) => `${name}: ${value}`);
  const show = (text: string, pictures: readonly string[] = []): void =>
    onTried({
      status: response.status,
      durationMs: performance.now() - startedAt,
      headers: told.join('\n'),
      text: text.slice(0, MAX_SHOWN),
      pictures,
    });
  if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) {
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) show((text += chunk));
    return;
  }
  const text = await response.text();
  show(pretty(text), picturesIn(text));
}

function pretty(text: string): string {
  try {
    return JSON.stringify(
      JSON.parse(text),
      (_, value: unknown) =>
        typeof value === 'string' && value.length > 2000 ? `${value.slice(0, 80)}…` : value,
      2,
    );
  } catch {
    return text;
  }
}

/** Images of an answer that are on this origin or in the answer itself: nothing else may be loaded. */
function picturesIn(text: string): string[] {
  const links = [...text.matchAll(/"url":\s*"([^"]+)"/g)].map((match) => match[1] ?? '');
  const inline = [...text.matchAll(/"b64_json":\s*"([^"]+)"/g)].map(
    (match) => `data:image/png;base64,${match[1] ?? ''}`,
  );
  return [...links.filter((link) => link.startsWith(`${location.origin}/`)), ...inline].slice(0, 4);
}
