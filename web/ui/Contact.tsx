/** How to reach the operator, as they wrote it: a link if it is an email address or a page, else plain text. */
export function Contact({ text }: { text: string }) {
  const href = hrefOf(text);
  if (href === undefined) return <span className="break-words text-ink-2">{text}</span>;
  return (
    <a href={href} rel="noreferrer" className="break-words text-accent underline underline-offset-2">
      {text}
    </a>
  );
}

function hrefOf(text: string): string | undefined {
  if (/^[^\s@/:?&#]+@[^\s@/:?&#]+\.[^\s@/:?&#]+$/.test(text)) return `mailto:${text}`;
  return /^https:\/\/\S+$/.test(text) && URL.canParse(text) ? text : undefined;
}
