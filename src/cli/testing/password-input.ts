import type { PasswordInput } from '../command.ts';

/** Standard input that is closed: nobody types and no program writes. */
export const NO_PASSWORD: PasswordInput = {
  isTerminal: false,
  readLine: () => Promise.resolve(''),
  ask: () => Promise.reject(new Error('there is no terminal')),
};
