/** Whose the holds of this process are, and how long they outlive it. */
export interface Lease {
  readonly node: string;
  readonly leaseMs: number;
}
