import { z } from 'zod';
import { catalogFile, type FileSettings } from './file-schema.ts';

/**
 * The file's schema for editors, from the same schema that reads the file. Draft 7 has the best support in YAML
 * plugins.
 */
export function catalogJsonSchema(settings: FileSettings): string {
  const schema = z.toJSONSchema(catalogFile(settings), { io: 'input', target: 'draft-7' });
  const titled = { title: 'Tollgate catalog', ...schema };
  return `${JSON.stringify(titled, null, 2)}\n`;
}
