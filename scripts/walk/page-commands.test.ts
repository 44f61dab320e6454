import { expect, test } from 'bun:test';
import { commandsOf } from './page-commands.ts';

const PAGE = `
Run \`tollgate doctor\`, set \`TOLLGATE_DATA\`, and \`A=1 B=$(date +%F) tollgate verify --full\`; \`tollgate doctor\` once more.

1. Settings:

   \`\`\`sh
   cat > file <<'END'
     indented
   END
   \`\`\`

\`\`\`yaml
run: \`tollgate nothing\`
\`\`\`
`;

test('a page’s commands are its shell blocks as a reader sees them, and those within sentences, each once', () => {
  expect(commandsOf(PAGE).map(({ text }) => text)).toEqual([
    'tollgate doctor',
    'A=1 B=$(date +%F) tollgate verify --full',
    "cat > file <<'END'\n  indented\nEND",
  ]);
});
