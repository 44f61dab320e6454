import type { MailData, MailSite, MailTemplate, MailTexts } from './mail-data.ts';
import { MAIL_TEXTS_DE } from './mail-texts-de.ts';
import { MAIL_TEXTS_EN } from './mail-texts-en.ts';

export interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export function isMailTemplate(topic: string): topic is MailTemplate {
  return Object.hasOwn(MAIL_TEXTS_EN, topic);
}

/** Plain text and HTML with the same words; readable without images, styles or links. */
export function renderMail<T extends MailTemplate>(
  template: T,
  data: MailData[T],
  { language, site }: { readonly language: string; readonly site: MailSite },
): RenderedMail {
  const isGerman = /^de\b/i.test(language);
  const texts: MailTexts = isGerman ? MAIL_TEXTS_DE : MAIL_TEXTS_EN;
  const { subject, paragraphs, action } = texts[template](data, site);
  const footer = site.url === undefined ? site.name : `${site.name}, ${site.url}`;
  const lines = action ? [...paragraphs, `${action.label}:\n${action.link}`] : paragraphs;
  const parts = paragraphs.map((line) => `<p>${escaped(line)}</p>`);
  if (action) {
    const link = escaped(action.link);
    parts.push(`<p><a href="${link}">${escaped(action.label)}</a></p>`, `<p>${link}</p>`);
  }
  const body = [...parts, `<p style="color:#666">${escaped(footer)}</p>`].join('\n');
  return {
    subject,
    text: `${[...lines, `-- \n${footer}`].join('\n\n')}\n`,
    html: `<!doctype html>
<html lang="${isGerman ? 'de' : 'en'}">
<head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font-family:sans-serif;line-height:1.5;max-width:36em">
${body}
</body>
</html>
`,
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
