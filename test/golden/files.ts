import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { GoldenCase } from './case.ts';

const RECORDED = join(import.meta.dir, 'recorded');

export function fileOf({ name }: GoldenCase): string {
  return join(RECORDED, `${name}.http`);
}

export function recordedFiles(): string[] {
  return readdirSync(RECORDED, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.http'))
    .map((name) => join(RECORDED, name));
}
