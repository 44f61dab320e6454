/**
 * Settings that Bun reads only when a process starts. The first is the number of concurrent calls to backends: with
 * Bun's default, the 257th waits for another one to end. The second is the memory size that the garbage collector plans
 * with: it counts an open stream as hundreds of kilobytes that are not used, so with the machine's whole memory it leaves
 * hundreds of megabytes of garbage uncollected. A larger heap still works; it is only collected more often.
 */
export const BUN_SETTINGS: Readonly<Record<string, string>> = {
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65000',
  BUN_JSC_forceRAMSize: String(512 * 1024 * 1024),
};
