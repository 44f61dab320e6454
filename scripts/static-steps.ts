/**
 * One checker: several would each work out the types that they share, which is most of the work. What the last run found
 * of files that have not changed since, nor what they import, is not worked out again.
 */
const TYPES_KNOWN = 'node_modules/.cache/tollgate-types/types.tsbuildinfo';
export const TYPES = ['tsc', '-p', '.', '--checkers', '1', '--incremental', '--tsBuildInfoFile', TYPES_KNOWN];

/**
 * For programs in Go, the type checker and the linter's: they end before their garbage is worth collecting, so they
 * collect none until this much memory is in use.
 */
export const FEW_COLLECTIONS = { GOGC: 'off', GOMEMLIMIT: '3GiB' } as const;

/** What the program and the console reach. All of `src/main` is named, because `main.ts` is not seen where scripts start it. */
export const ONLY_TESTED = 'knip --production -c knip.production.json --include files,exports,types'.split(
  ' ',
);
