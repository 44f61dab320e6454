/**
 * Belongs to every function that looks up few rows by key in tables of any size. A plan made while a table was small must
 * not scan it when it has grown, and planning again for each call would cost more than the call. As part of the function
 * it holds on every connection, whoever opened it.
 */
export const LOOK_UP_BY_KEY =
  'SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off';
