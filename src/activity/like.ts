/** A pattern for LIKE, in lower case: any text with this in it. Characters with a meaning are escaped with a backslash. */
export function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, (character) => `\\${character}`)}%`;
}
