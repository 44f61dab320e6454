#!/usr/bin/env bun
import { PAGE, withPresetTable } from './providers/preset-table.ts';

/** Writes the table of presets into docs/providers.md. */
await Bun.write(PAGE, withPresetTable(await Bun.file(PAGE).text()));
