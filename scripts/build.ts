/**
 * `npm run build [FILE] [-- --target TARGET]`: one binary, `dist/tollgate` unless another file is named. A target such as
 * `bun-linux-arm64` is another platform than this machine's; its Bun is downloaded once.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, serverBundle } from './release/server-bundle.ts';

const { positionals, values } = parseArgs({
  options: { target: { type: 'string' } },
  allowPositionals: true,
});
const outfile = resolve(positionals[0] ?? join(ROOT, 'dist/tollgate'));
// The bundler refuses a target that it does not know.
const target = values.target as Bun.Build.CompileTarget | undefined;

mkdirSync(dirname(outfile), { recursive: true });
const result = await Bun.build({
  ...(await serverBundle()),
  compile: { outfile, ...(target && { target }) },
  // Compiled ahead: a start parses nothing, and takes half as long.
  bytecode: true,
});
if (!result.success) throw new AggregateError(result.logs, 'the binary could not be built');
const { size } = Bun.file(outfile);
console.log(`${relative(process.cwd(), outfile)}  ${(size / 1_048_576).toFixed(0)} MB`);
