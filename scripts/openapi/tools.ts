import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApiDocument } from '../../src/api/openapi.ts';
import { OPERATIONS } from '../../src/api/operations.ts';
import { operatorDocument } from '../../src/console/operator-document.ts';
import { ROUTES } from '../../src/console/routes.ts';
import { version } from '../../package.json' with { type: 'json' };
import { runProgram } from '../agents/program.ts';

const INSTALL_MS = 600_000;

/** Where programs of others and the document are, for as long as a script runs. */
export interface ToolFolder {
  readonly folder: string;
  /** Of the public API, and of the operators'. */
  readonly document: string;
  readonly operatorDocument: string;
  /** The path of an installed program. */
  readonly program: (name: string) => string;
  readonly environment: Record<string, string>;
  remove(): void;
}

/**
 * Programs of exact versions in a temporary folder. They are no packages of the project: together they bring several
 * hundred others, of which nothing here needs one.
 */
export async function installTools(packages: readonly string[]): Promise<ToolFolder> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-openapi-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    const document = join(folder, 'openapi.json');
    writeFileSync(document, JSON.stringify(openApiDocument(OPERATIONS), null, 2));
    const operatorFile = join(folder, 'operator.json');
    writeFileSync(operatorFile, JSON.stringify(await operatorDocument(ROUTES, version), null, 2));
    const environment = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      npm_config_cache: process.env['npm_config_cache'] ?? join(process.env['HOME'] ?? folder, '.npm'),
      // Neither of them may call home.
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const install = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    const { exitCode, output } = await runProgram({
      command: [...install, ...packages],
      folder,
      environment,
      timeoutMs: INSTALL_MS,
    });
    if (exitCode !== 0)
      throw new Error(`npm could not install ${packages.join(', ')}:\n${output.slice(-2_000)}`);
    const program = (name: string): string => join(folder, 'node_modules', '.bin', name);
    return { folder, document, operatorDocument: operatorFile, program, environment, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
