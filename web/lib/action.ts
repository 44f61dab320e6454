import { useMutation, useQueryClient, type UseMutationResult } from '@tanstack/react-query';
import type { ApiError, ReadRoute } from './api.ts';
import { refreshReads, tellOtherTabs } from './query.ts';
import { createContext, useContext } from 'react';

interface ActionOptions<Result> {
  readonly onDone?: (result: Result) => void;
  /** Queries that the action makes stale. */
  readonly refresh?: readonly ReadRoute[];
  /** Queries to repeat when the server says that they are outdated. */
  readonly refreshOnConflict?: readonly ReadRoute[];
}

/** A user's action: asks for the password first if the server requires it, then refreshes what it changed. */
export function useAction<Result, Input = void>(
  act: (input: Input) => Promise<Result>,
  { onDone, refresh = [], refreshOnConflict = [] }: ActionOptions<Result> = {},
): UseMutationResult<Result, ApiError, Input> {
  const client = useQueryClient();
  const confirmed = useConfirmed();
  return useMutation<Result, ApiError, Input>({
    mutationFn: async (input) => await confirmed(async () => await act(input)),
    onError: async (error) => {
      if (error.code === 'conflict') await refreshReads(client, refreshOnConflict);
    },
    onSuccess: async (result) => {
      tellOtherTabs(refresh);
      await refreshReads(client, refresh);
      onDone?.(result);
    },
  });
}

/** Runs an action; if the server requires a fresh confirmation, asks for the password and runs it again. */
export type Confirmed = <Result>(act: () => Promise<Result>) => Promise<Result>;

export const ConfirmedContext = createContext<Confirmed>(async (act) => await act());

function useConfirmed(): Confirmed {
  return useContext(ConfirmedContext);
}
