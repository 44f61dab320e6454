import { Fault } from '../../std/fault.ts';

/**
 * Newer SDKs keep the conversation of a tool loop at the provider and send only what is new. Nothing is kept here, and
 * what a provider keeps cannot be priced before it is read. So a thread can be started, which is a whole request, but
 * is never found again: on that code the SDKs send the whole conversation again.
 */
export function withoutThread(body: Record<string, unknown>): Record<string, unknown> {
  const { thread, ...rest } = body;
  if (typeof thread === 'object' && thread !== null && 'type' in thread && thread.type === 'continue') {
    throw new Fault('not_found', 'Tollgate keeps no threads. Send the whole conversation in messages.', {
      param: 'thread',
      extra: { error_code: 'thread_not_found' },
    });
  }
  return rest;
}
