import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem } from 'node:os';

/** What the numbers were taken on, in one line. */
export function machineLine(): string {
  const cores = cpus();
  const model = cores[0]?.model.trim();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  const named = model === undefined || model === '' || model === 'unknown' ? armPart() : model;
  return `${cores.length} cores ${arch()}${named === '' ? '' : ` (${named})`}, ${memory}, Linux ${release()}`;
}

export function loadLine(): string {
  return loadavg()
    .map((one) => one.toFixed(2))
    .join(' ');
}

/** ARM kernels give numbers instead of a name. */
function armPart(): string {
  const text = readFileSync('/proc/cpuinfo', 'latin1');
  const part = /CPU part\s*: (0x[0-9a-f]+)/.exec(text)?.[1];
  return part === undefined ? '' : (ARM_PARTS[part] ?? `ARM part ${part}`);
}

const ARM_PARTS: Readonly<Record<string, string>> = {
  '0xd0c': 'Neoverse N1',
  '0xd40': 'Neoverse V1',
  '0xd49': 'Neoverse N2',
  '0xd4f': 'Neoverse V2',
};
