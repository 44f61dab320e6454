/** Why an import cannot be previewed, for the operator. */
export class ImportError extends Error {}
