/** Turns text into the terms that questions and guides are compared by: lower case, without endings and filler words. */
export function searchTermsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+(?:[_'’-][\p{L}\p{N}]+)*/gu) ?? [];
  return words.flatMap((word) => {
    const parts = word.split(/[_'’-]/).filter((part) => part !== '');
    // A compound such as insufficient_balance is found by itself and by its parts; "what's" is two words.
    const compound = parts.length > 1 && !/['’]/.test(word);
    const forms = compound ? [word.replaceAll('-', '_'), ...parts] : parts;
    return forms
      .filter((form) => form.length > 1 && !FILLERS.has(form))
      .map(stem)
      .filter((form) => !FILLERS.has(form));
  });
}

/** Cuts common English endings, so that "streams", "streaming" and "streamed" are one term. */
function stem(word: string): string {
  if (word.length < 4 || word.includes('_') || /\d/.test(word)) return word;
  const plain = word
    .replace(/ies$/, 'y')
    .replace(/(ss|x|ch|sh)es$/, '$1')
    .replace(/([^s])s$/, '$1');
  const cut = plain.replace(/(?:ing|ed)$/, '');
  const root = cut.length >= 3 && /[aeiouy]/.test(cut) ? cut.replace(/([bdgmnprt])\1$/, '$1') : plain;
  return root.length > 4 ? root.replace(/e$/, '') : root;
}

const FILLERS =
  filler(`a an and are as at be been but by can could did do does doing for from get got had has have how i if in
  into is it its just like ll m make me my need not of on or our please re s shall should so some tell than that the
  their them then there these they this those to up us use used using ve via want was we were what when where which who
  whom why will with would you your am any about also explain describe give show know work works working happen happens
  mean means tollgate hi hello hey thanks thank t don doesn isn let way ways possible exactly really much many more find
  exist exists support supported too without see write available being avoid enable activate turn thing now`);

/** Words that people use, with the words of the guides for them. */
const SAME: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    key: 'token',
    apikey: 'token',
    secret: 'token secret',
    credential: 'token',
    authenticate: 'token authorization',
    authentication: 'token authorization',
    auth: 'token authorization',
    login: 'sign-in sign',
    logon: 'sign-in sign',
    register: 'account create',
    signup: 'account create',
    password: 'sign',
    cost: 'price cost charge',
    pricing: 'price cost',
    expensive: 'price cost',
    bill: 'charge receipt',
    billing: 'charge receipt money',
    invoice: 'receipt',
    pay: 'charge balance top',
    payment: 'balance money',
    fund: 'balance',
    credit: 'balance top credit',
    deposit: 'top balance',
    recharge: 'top balance',
    refill: 'top balance',
    picture: 'image',
    photo: 'image',
    draw: 'image paint',
    art: 'image paint',
    png: 'image png',
    sse: 'stream events',
    realtime: 'stream',
    database: 'postgres sqlite store',
    sql: 'postgres sqlite',
    deploy: 'self-hosting start',
    install: 'start',
    setup: 'start',
    run: 'start',
    docker: 'self-hosting',
    server: 'server self-hosting',
    certificate: 'tls https',
    ssl: 'tls https',
    quota: 'limit',
    throttle: 'rate limit',
    backoff: 'retry',
    duplicate: 'idempotency',
    twice: 'idempotency',
    function: 'tool function',
    vision: 'image',
    provider: 'backend provider',
    upstream: 'backend upstream',
    sdk: 'client sdk',
    library: 'client sdk',
    rotate: 'replace',
    change: 'replace',
    leak: 'replace seen',
    steal: 'replace seen',
    stole: 'replace seen',
    stolen: 'replace seen',
    regenerate: 'replace',
    renew: 'replace',
    compromised: 'replace seen',
    cancel: 'stop close abort',
    interrupt: 'stop close abort',
    disconnect: 'close stop abort',
    response: 'answer',
    reply: 'answer',
    call: 'request',
    empty: 'left',
    negative: 'below',
    put: 'send',
    often: 'rate limit minute',
    fast: 'rate limit minute',
    revoke: 'replace revoke',
    delete: 'disable revoke',
    maximum: 'limit largest',
    restore: 'backup',
    monitoring: 'metrics watch',
    prometheus: 'metrics',
    kubernetes: 'nodes self-hosting',
    cluster: 'nodes postgres',
    scale: 'nodes postgres',
    crash: 'killed wrong',
    structured: 'json schema',
    conversation: 'messages',
    history: 'messages conversation',
  }).map(([word, others]) => [stem(word), searchTermsOf(others)]),
);

/** Other terms that a question's term may mean. */
export function synonymsOf(term: string): readonly string[] {
  return (SAME.get(term) ?? []).filter((other) => other !== term);
}

function filler(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/));
}
