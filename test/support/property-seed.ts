import * as fc from 'fast-check';

/**
 * Loaded before every test file (`bunfig.toml`): all property tests of a run share one seed, new for each run and printed
 * at its start. A failure prints its seed and path; `FAST_CHECK_SEED=… FAST_CHECK_PATH=… npm test -- <file>` replays it.
 */
const seed = chosenSeed(process.env['FAST_CHECK_SEED']);
const path = process.env['FAST_CHECK_PATH'];
// Processes that a test starts use the same one.
process.env['FAST_CHECK_SEED'] = String(seed);
// `npm test` prints the seed itself, once for each group.
if (process.env['TOLLGATE_TEST_GROUP'] === undefined) console.log(`FAST_CHECK_SEED=${seed}`);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed, ...(path ? { path } : {}) });

function chosenSeed(given: string | undefined): number {
  if (!given) return crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
  const seed = Number(given);
  if (!Number.isInteger(seed)) throw new Error(`FAST_CHECK_SEED must be a whole number, not '${given}'`);
  return seed;
}
