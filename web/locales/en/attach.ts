export const attach = {
  attach: {
    button: 'Attach files',
    list: 'Attached files',
    remove: 'Remove {{name}}',
    hint: {
      text: 'Text files up to {{text}}',
      images: 'Text files up to {{text}}, images up to {{binary}}',
      pdf: 'Text files up to {{text}}, PDF up to {{binary}}',
      all: 'Text files up to {{text}}, images and PDF up to {{binary}}',
    },
    noImages: '{{model}} does not accept images. Remove them or choose another model.',
    noPdf: '{{model}} does not accept PDF files. Remove them or choose another model.',
    problem: {
      textTooLarge: '{{name}}: text files can be up to {{text}}.',
      binaryTooLarge: '{{name}}: images and PDF files can be up to {{binary}}.',
      totalTooLarge: '{{name}}: all files together can be up to {{total}}.',
      tooMany: '{{name}}: up to {{most, number}} files can be attached to a message.',
      notText: '{{name}} is neither text, an image nor a PDF file.',
      unreadable: '{{name}} could not be read.',
    },
  },
};
