import { createHash } from 'node:crypto';
import { changesBetween, writeAudit } from '../activity/audit.ts';
import type { IncomingRequest } from '../http/router.ts';
import { requireOperatorRight } from '../identity/accounts/roles.ts';
import { operatorRoles, type Operator } from '../identity/accounts/operators.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { RouteParts } from './parts.ts';
import type { RouteDeclaration } from './route.ts';

interface OperationCall {
  readonly route: RouteDeclaration;
  readonly operator: Operator;
  readonly params: Readonly<Record<string, string>>;
}

interface OperationWithBody extends OperationCall {
  readonly incoming: IncomingRequest;
  readonly body: unknown;
}

/** Throws 429 where they are too many, and 403 unless the operator's role may do it, which is recorded too. A route that names no right is nobody's. */
export async function requireOperation(parts: RouteParts, call: OperationCall): Promise<void> {
  const { route, operator, params } = call;
  parts.auth.throttle.act('operation', operator.id);
  try {
    if (route.may === undefined) throw new Fault('not_allowed', 'This is no operation.');
    requireOperatorRight(operator.role, route.may);
    await requireChangeable(parts, call);
  } catch (error) {
    await record(parts, call, { action: `${actionOf(route)}.refused`, detail: refusal(error) });
    throw error;
  }
  if (operator.kind === 'token' && route.audit === undefined) {
    const detail = { operation: route.summary };
    await record(parts, { route, operator, params }, { action: actionOf(route), detail });
  }
}

/** Those who operate are changed by owners alone: whoever could set the password of an owner would be one. */
async function requireChangeable({ store }: RouteParts, { route, operator, params }: OperationCall) {
  if (operator.role === 'owner' || route.may === 'give_money' || !isAboutAccount(route)) return;
  const id = params['id'] ?? '';
  if ((await operatorRoles(store.db, [id])).has(id))
    throw new Fault('not_allowed', 'Accounts of those who operate are changed by an owner alone.', {
      extra: { roles: 'owner' },
    });
}

function isAboutAccount({ name }: RouteDeclaration): boolean {
  return !name.startsWith('GET ') && name.includes('/admin/accounts/{id}');
}

/** What an operation is called in the audit log; one that changes nothing is a read. */
function actionOf({ audit, name }: RouteDeclaration): string {
  return audit ?? (name.startsWith('GET ') ? 'api.read' : 'api.call');
}

/** Once for its key, and recorded. */
export async function operate(
  parts: RouteParts,
  call: OperationWithBody,
  work: (once: string) => Promise<Response>,
): Promise<Response> {
  const { route, incoming } = call;
  const key = incoming.request.headers.get('idempotency-key');
  if (key === null && route.money) throw keyMissing();
  if (key === null || route.name.startsWith('GET ')) return await runAudited(parts, call, () => work(''));
  if (key === '' || key.length > MAX_KEY)
    throw new Fault('invalid_field', `Idempotency-Key must have 1 to ${MAX_KEY} characters.`, {
      param: 'Idempotency-Key',
    });
  const bodyHash = createHash('sha256')
    .update(`${route.name}\n${JSON.stringify([call.params, call.body])}`)
    .digest('hex');
  let done = false;
  try {
    const response = await onlyOnce(
      parts,
      { ...call, key, bodyHash },
      {
        work: (once) => {
          done = true;
          return runAudited(parts, call, () => work(once));
        },
        again: route.repeats ? work : undefined,
      },
    );
    if (!done) await record(parts, call, { action: actionOf(route), detail: { repeated: true } });
    return response;
  } catch (error) {
    if (!done) await record(parts, call, { action: `${actionOf(route)}.refused`, detail: refusal(error) });
    throw error;
  }
}

const MAX_KEY = 255;

export function keyMissing(): Fault {
  const message =
    'Send an Idempotency-Key, such as the number of an invoice. With the same key and body this is done once, however often it is sent.';
  return new Fault('missing_field', message, { param: 'Idempotency-Key' });
}

const WAIT = { ms: 100, times: 50 };

/**
 * The first call with a key does the work; the others get its answer, and one with another body is refused. What the
 * ledger books has the same key in it, so a process that dies in between books nothing twice.
 */
async function onlyOnce(
  { keyedAnswers }: RouteParts,
  call: OperationWithBody & { readonly key: string; readonly bodyHash: string },
  { work, again }: KeyedWork,
): Promise<Response> {
  const { route, operator, incoming, key, bodyHash } = call;
  const { requestId } = incoming;
  const once = `operator:${operator.id}:${bodyHash.slice(0, 32)}:${key}`;
  // Keys are an operator's own, as an account's are its.
  const own = { accountId: operator.id as AccountId, key, requestId };
  for (let tries = 0; tries < WAIT.times; tries++) {
    const state = await keyedAnswers.begin({ ...own, bodyHash });
    switch (state.kind) {
      case 'started': {
        const response = await work(once).catch(async (error: unknown) => {
          await keyedAnswers.drop(own);
          throw error;
        });
        const body = await response.bytes();
        const { status } = response;
        const headers = Object.fromEntries(response.headers);
        await keyedAnswers.finish({
          ...own,
          status,
          headers,
          body: route.secret ? undefined : body,
          charged: undefined,
        });
        return new Response(body, { status, headers });
      }
      case 'replay':
        return replayed(new Response(state.body, state), requestId);
      case 'reused':
        throw new Fault('idempotency_key_reused', 'This Idempotency-Key was used with another request.', {
          param: 'Idempotency-Key',
        });
      case 'gone':
        if (again) return replayed(await again(once), requestId);
        throw new Fault(
          'idempotency_answer_gone',
          'This was done with this Idempotency-Key, and is not done again. Its answer was shown once.',
          { param: 'Idempotency-Key' },
        );
      case 'running':
        await Bun.sleep(WAIT.ms);
    }
  }
  throw new Fault('service_unavailable', 'The first request with this Idempotency-Key is still running.', {
    retryAfterMs: 2_000,
  });
}

interface KeyedWork {
  work(this: void, once: string): Promise<Response>;
  /** Makes the answer to what is done already. */
  readonly again: ((once: string) => Promise<Response>) | undefined;
}

function replayed(response: Response, requestId: string): Response {
  response.headers.set('x-request-id', requestId);
  response.headers.set('idempotent-replayed', 'true');
  return response;
}

/** Recorded before it is done, so that nothing is done without a record; what it has changed, or a refusal, adds a second entry. */
async function runAudited(
  parts: RouteParts,
  call: OperationWithBody,
  work: () => Promise<Response>,
): Promise<Response> {
  const { route, params, body } = call;
  if (route.audit === undefined) return await work();
  const id = params['id'] ?? '';
  const state = () => route.state?.(parts, id);
  await record(parts, call, { action: route.audit, detail: recordable(body, route.recorded) });
  const before = await state();
  try {
    const result = await work();
    const after = await state();
    const changes = before && after && changesBetween(before, after);
    if (changes) await record(parts, call, { action: `${route.audit}.changed`, detail: changes });
    return result;
  } catch (error) {
    await record(parts, call, { action: `${route.audit}.refused`, detail: refusal(error) });
    throw error;
  }
}

function record(
  { store, clock }: RouteParts,
  { operator, params }: OperationCall,
  { action, detail }: { readonly action: string; readonly detail: Readonly<Record<string, unknown>> },
): Promise<void> {
  return writeAudit(store, { actor: operator.id, action, target: params['id'] ?? '', detail }, clock.now());
}

function refusal(error: unknown): { readonly code: string } {
  return { code: error instanceof Error && 'code' in error ? String(error.code) : 'internal_error' };
}

/** Secrets, also in addresses, and who an account belongs to: the audit log is never changed, and an account may be removed. */
const UNRECORDED_FIELDS = new Set([
  'password',
  'value',
  'yaml',
  'once',
  'email',
  'name',
  'url',
  'export',
  'jpeg',
]);

function recordable(body: unknown, recorded: readonly string[] = []): Record<string, unknown> {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => !UNRECORDED_FIELDS.has(name) || recorded.includes(name)),
  );
}
