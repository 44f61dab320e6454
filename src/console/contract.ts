/**
 * What the console's pages and its API agree on, as types alone: `web/` imports nothing else of the server. The routes are
 * in `contract/routes.ts`, apart from here because it is made from the handlers, which use the types below.
 */
export type * from './contract/shared.ts';
