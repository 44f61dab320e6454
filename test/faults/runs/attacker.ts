/**
 * The attacker of the attack run, in a process of its own: so many connections, each of which makes one attack after the
 * other until the time is up. Prints how they were answered, by attack.
 */
import { newToken } from '../../../src/identity/accounts/token.ts';

export interface AttackPlan {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** Of an account with little money. */
  readonly token: string;
  /** Of an account with none. */
  readonly penniless: string;
  /** One attack alone, to see what it does. */
  readonly only?: string;
}

/** Statuses, or `broken` where the connection was closed, by attack. */
export type AttackReport = Readonly<Record<string, Readonly<Record<string, number>>>>;

const MEGABYTE = 1_048_576;
const PATIENCE_MS = 30_000;
const CHAT = '/v1/chat/completions';

interface Attack {
  readonly path: string;
  readonly token: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

function attacksOf({ token, penniless }: AttackPlan): Readonly<Record<string, () => Attack>> {
  const chat = (model: string, more: object = {}, content = 'hi'): Attack => ({
    path: CHAT,
    token,
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], max_tokens: 100, ...more }),
  });
  const schema = nestedArrays(10);
  const json_schema = { name: 'n', schema };
  const utf8 = new TextEncoder();
  const objects = utf8.encode(
    `{"model":"svc_chat/m","messages":[${'{},'.repeat((20 * MEGABYTE) / 3 - 100)}{}]}`,
  );
  const text = 'It was the best of times, it was the worst of times. '.repeat((18 * MEGABYTE) / 53);
  const count = utf8.encode(
    JSON.stringify({ model: 'svc_chat/m', messages: [{ role: 'user', content: text }] }),
  );
  return {
    'nested schema': () =>
      chat('svc_house/house-echo', { response_format: { type: 'json_schema', json_schema } }, '/json'),
    '429 of one model': () => chat('svc_chat/limited'),
    'refusals by content': () => chat('svc_chat/refused'),
    'images with events': () => ({
      path: '/v1/images/generations',
      token,
      body: JSON.stringify({ model: 'svc_image/p', prompt: 'x', stream: true }),
    }),
    'invented token': () => ({ path: CHAT, token: inventedToken(), body: objects }),
    'huge count': () => ({ path: '/v1/messages/count_tokens', token: penniless, body: count }),
    'compressed answer': () => chat('svc_bomb/bomb'),
  };
}

/** 580 bytes that would be a hundred to the tenth of values. */
function nestedArrays(depth: number): object {
  return depth === 0 ? { type: 'string' } : { type: 'array', minItems: 100, items: nestedArrays(depth - 1) };
}

/** One whose checksum is right and that nobody has. */
function inventedToken(): string {
  return newToken(crypto.getRandomValues(new Uint8Array(32))).token;
}

async function attack(plan: AttackPlan): Promise<AttackReport> {
  const attacks = Object.entries(attacksOf(plan)).filter(([name]) => name === (plan.only ?? name));
  if (attacks.length === 0) throw new Error(`there is no attack "${plan.only}"`);
  const report: Record<string, Record<string, number>> = {};
  const end = performance.now() + plan.seconds * 1_000;
  const connection = async (start: number): Promise<void> => {
    for (let turn = start; performance.now() < end; turn++) {
      const [name, make] = attacks[turn % attacks.length]!;
      const outcome = await outcomeOf(plan.url, make());
      const counts = (report[name] ??= {});
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: plan.connections }, (_, index) => connection(index)));
  return report;
}

async function outcomeOf(url: string, { path, token, body }: Attack): Promise<string> {
  try {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.arrayBuffer();
    return String(response.status);
  } catch (thrown) {
    return thrown instanceof Error && thrown.name === 'TimeoutError' ? 'timeout' : 'broken';
  }
}

const plan = JSON.parse(await Bun.stdin.text()) as AttackPlan;
console.log(JSON.stringify(await attack(plan)));
process.exit(0);
