import type { Call } from '../relay/call.ts';

/** What every inference call has, whatever it asks for. */
export type CallBase = Pick<
  Call<unknown>,
  | 'requestId'
  | 'caller'
  | 'client'
  | 'connection'
  | 'size'
  | 'maxCost'
  | 'onClosed'
  | 'retryOf'
  | 'isKeyed'
  | 'requestRecord'
>;
