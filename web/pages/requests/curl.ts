import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { publicOrigin } from '../../lib/browser.ts';

/** The same request, as far as it is known: contents are not stored, so a placeholder stands in. */
export function asCurl(
  row: Pick<ItemOf<'GET /api/console/requests'>, 'kind' | 'endpoint' | 'model' | 'stream'>,
): string {
  const body =
    row.kind === 'images'
      ? { endpoint_code: row.endpoint, model: row.model, prompt: '…' }
      : {
          endpoint: row.endpoint,
          model: row.model,
          messages: [{ role: 'user', content: '…' }],
          ...(row.stream ? { stream: true } : {}),
        };
  const path = row.kind === 'images' ? 'images/generations' : 'chat/completions';
  return curlCommand(`${publicOrigin()}/api/public/v1/${path}`, body, '$TOLLGATE_TOKEN');
}

export function curlCommand(url: string, body: unknown, token: string): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll('\n', '\n  ');
  return `curl ${url} \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}
