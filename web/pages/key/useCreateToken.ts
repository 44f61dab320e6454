import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { freshToken } from '../../lib/freshToken.ts';

/** Creates or replaces the token; the secret goes to memory for the snippets, and to the dialog that shows it once. */
export function useCreateToken(onShown: (token: string) => void) {
  return useAction(async () => await call('POST /api/console/token', { body: {} }), {
    refresh: ['GET /api/console/token', 'GET /api/console/overview', 'GET /api/console/quickstart'],
    onDone: ({ token }) => {
      freshToken.set(token);
      onShown(token);
    },
  });
}
