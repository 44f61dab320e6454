const SETTINGS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/**
 * Belongs to every function that looks up few rows by key in tables of any size. A plan made while a table was small must
 * not scan it when it has grown, and planning again for each call would cost more than the call. As part of the function
 * it holds on every connection, whoever opened it.
 */
export const LOOK_UP_BY_KEY = Object.entries(SETTINGS)
  .map(([name, value]) => `SET ${name} = ${value}`)
  .join(' ');

/** The same as calls that make the settings until the transaction ends, for a procedure that commits. */
export const LOOK_UP_BY_KEY_IN_TRANSACTION = Object.entries(SETTINGS)
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ');
