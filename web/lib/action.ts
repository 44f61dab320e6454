import { useMutation, useQueryClient, type UseMutationResult } from '@tanstack/react-query';
import type { ConsoleRoute } from '../../src/console/contract.ts';
import type { ApiError } from './api.ts';
import { useConfirmed } from './confirm.ts';

interface ActionOptions<Result> {
  readonly onDone?: (result: Result) => void;
  /** Queries that the action makes stale. */
  readonly refresh?: readonly (ConsoleRoute & `GET ${string}`)[];
  /** Queries to repeat when the server says that they are outdated. */
  readonly refreshOnConflict?: readonly (ConsoleRoute & `GET ${string}`)[];
}

/** A user's action: asks for the password first if the server requires it, then refreshes what it changed. */
export function useAction<Result, Input = void>(
  act: (input: Input) => Promise<Result>,
  { onDone, refresh = [], refreshOnConflict = [] }: ActionOptions<Result> = {},
): UseMutationResult<Result, ApiError, Input> {
  const client = useQueryClient();
  const repeat = async (routes: readonly string[]): Promise<void> => {
    await Promise.all(routes.map(async (route) => await client.invalidateQueries({ queryKey: [route] })));
  };
  const confirmed = useConfirmed();
  return useMutation<Result, ApiError, Input>({
    mutationFn: async (input) => await confirmed(async () => await act(input)),
    onError: async (error) => {
      if (error.code === 'conflict') await repeat(refreshOnConflict);
    },
    onSuccess: async (result) => {
      await repeat(refresh);
      onDone?.(result);
    },
  });
}
