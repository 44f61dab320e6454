import { installPeer } from './install.ts';

const VERSION = '24.11.1';

/** Node from npm, where a gateway wants one that is newer than the machine's. */
export function nodeProgram(): string {
  const name = `node-${process.platform}-${process.arch}`;
  return installPeer({
    name: 'node',
    version: VERSION,
    program: `node_modules/${name}/bin/node`,
    commands: (prefix) => [
      ['npm', 'install', '--no-audit', '--no-fund', '--prefix', prefix, `${name}@${VERSION}`],
    ],
  });
}
