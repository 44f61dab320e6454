import { writeAudit } from '../activity/audit.ts';
import type { ErrorFormat } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { Operator } from '../identity/accounts/operators.ts';
import { Fault } from '../std/fault.ts';
import { faultBody } from '../wire/fault-body.ts';
import { CONSOLE_ERRORS } from './answers.ts';
import type { RouteParts } from './parts.ts';
import type { RouteDeclaration } from './route.ts';

/** The console's operations for programs, under `/api/operator/v1`, with `Authorization: Bearer op-…`. */
const OPERATOR_API = '/api/operator/v1';

export function operatorPath(path: string): string {
  return path.replace('/api/console/admin', OPERATOR_API);
}

export function isInOperatorApi({ who, consoleOnly }: RouteDeclaration): boolean {
  return who === 'operator' && consoleOnly === undefined;
}

/** The shape that the public API's errors have. */
export const OPERATOR_ERRORS: ErrorFormat = { ...CONSOLE_ERRORS, body: faultBody };

/** Only the header is read: an address with a token in it would end up in logs. */
export async function tokenOperator(parts: RouteParts, incoming: IncomingRequest): Promise<Operator> {
  const header = incoming.request.headers.get('authorization');
  if (header === null)
    throw new Fault('missing_token', 'Send an operator token as `Authorization: Bearer op-…`.');
  const [, token = ''] = /^Bearer +(\S+) *$/i.exec(header) ?? [];
  const found = await parts.operators.ofToken(token, incoming.address);
  if ('operator' in found) return found.operator;
  const { id, code } = found;
  if (id !== undefined && parts.operators.mayTellRefusal(id, code)) {
    const entry = { actor: id, action: 'operator-token.use.refused', target: id, detail: { code } };
    await writeAudit(parts.store, entry, parts.clock.now());
  }
  throw code === 'network_not_allowed'
    ? new Fault(code, 'This token may not be used from your network.')
    : new Fault(code, 'This is not a valid operator token.');
}
