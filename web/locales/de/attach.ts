import type { attach as english } from '../en/attach.ts';

export const attach: typeof english = {
  attach: {
    button: 'Dateien anhängen',
    list: 'Angehängte Dateien',
    remove: '{{name}} entfernen',
    hint: {
      text: 'Textdateien bis {{text}}',
      images: 'Textdateien bis {{text}}, Bilder bis {{binary}}',
      pdf: 'Textdateien bis {{text}}, PDF bis {{binary}}',
      all: 'Textdateien bis {{text}}, Bilder und PDF bis {{binary}}',
    },
    noImages: '{{model}} nimmt keine Bilder an. Entfernen Sie sie oder wählen Sie ein anderes Modell.',
    noPdf: '{{model}} nimmt keine PDF-Dateien an. Entfernen Sie sie oder wählen Sie ein anderes Modell.',
    problem: {
      textTooLarge: '{{name}}: Textdateien dürfen bis zu {{text}} groß sein.',
      binaryTooLarge: '{{name}}: Bilder und PDF-Dateien dürfen bis zu {{binary}} groß sein.',
      totalTooLarge: '{{name}}: Alle Dateien zusammen dürfen bis zu {{total}} groß sein.',
      tooMany: '{{name}}: An eine Nachricht lassen sich bis zu {{most, number}} Dateien anhängen.',
      notText: '{{name}} ist weder Text noch Bild noch PDF-Datei.',
      unreadable: '{{name}} konnte nicht gelesen werden.',
    },
  },
};
