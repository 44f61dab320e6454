/** One checker: several would each work out the types that they share, which is most of the work. */
export const TYPES = ['tsc', '-p', '.', '--checkers', '1'] as const;

/**
 * For programs in Go, the type checker and the linter's: they end before their garbage is worth collecting, so they
 * collect none until this much memory is in use.
 */
export const FEW_COLLECTIONS = { GOGC: 'off', GOMEMLIMIT: '3GiB' } as const;
