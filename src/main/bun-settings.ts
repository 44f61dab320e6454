/**
 * What Bun reads only when a process begins. The number of calls to backends at once: with Bun's own, the 257th waits
 * for one of the others to end. And the memory its collector plans with: an open stream is counted as hundreds of
 * kilobytes that nobody uses, so with the machine's whole memory in view it lets hundreds of megabytes of garbage lie
 * about. A larger heap still works; it is only collected more often.
 */
export const BUN_SETTINGS: Readonly<Record<string, string>> = {
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65000',
  BUN_JSC_forceRAMSize: String(512 * 1024 * 1024),
};
