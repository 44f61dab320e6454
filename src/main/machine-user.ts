import { readFileSync } from 'node:fs';

/**
 * Who runs this process, by the number that the system gives it and not by a variable that anybody can set. For root,
 * who could change any record anyway, the user who called sudo is named too.
 */
export function machineUser(): string {
  const uid = process.getuid?.();
  if (uid === undefined) return 'unknown';
  const sudoUser = uid === 0 ? process.env['SUDO_USER'] : undefined;
  const name = nameOf(uid) ?? `number ${uid}`;
  return sudoUser === undefined || sudoUser === '' ? name : `${sudoUser} as ${name}`;
}

function nameOf(uid: number): string | undefined {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n');
    return users.map((line) => line.split(':')).find((fields) => fields[2] === String(uid))?.[0];
  } catch {
    // A system without this file names its users elsewhere; the number is as good.
    return undefined;
  }
}
