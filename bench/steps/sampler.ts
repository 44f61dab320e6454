/**
 * Loaded into a server before it starts: measures the time between two turns of its event loop, and on SIGUSR2 prints the longest one since
 * the last time, by the clock and by the processor time of the thread. The second is what counts on a busy machine.
 */
const longest = { wallMs: 0, cpuMs: 0 };
let wall = performance.now();
let cpu = threadMs();

const turn = (): void => {
  const [nowWall, nowCpu] = [performance.now(), threadMs()];
  longest.wallMs = Math.max(longest.wallMs, nowWall - wall);
  longest.cpuMs = Math.max(longest.cpuMs, nowCpu - cpu);
  [wall, cpu] = [nowWall, nowCpu];
  setTimeout(turn, 0).unref();
};
setTimeout(turn, 0).unref();

process.on('SIGUSR2', () => {
  process.stderr.write(`longest step ${JSON.stringify(longest)}\n`);
  longest.wallMs = 0;
  longest.cpuMs = 0;
});

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
