/** Markdown imported as text: the bundler embeds it, so that a compiled binary contains its guides. */
declare module '*.md' {
  const text: string;
  export default text;
}
