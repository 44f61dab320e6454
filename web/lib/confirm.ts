import { createContext, useContext } from 'react';

/** Runs an action; if the server requires a fresh confirmation, asks for the password and runs it again. */
export type Confirmed = <Result>(act: () => Promise<Result>) => Promise<Result>;

export const ConfirmedContext = createContext<Confirmed>(async (act) => await act());

export function useConfirmed(): Confirmed {
  return useContext(ConfirmedContext);
}
