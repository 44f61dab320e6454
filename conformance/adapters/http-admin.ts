/** The API for operators of one-api and those that come from it: a session of a user, and every answer in an envelope. */
export class HttpAdmin {
  readonly url: string;
  /** What one that comes from it wants beside the session: the user's id. */
  readonly #userHeader: string | undefined;
  readonly #address: Readonly<Record<string, string>>;
  #headers: Readonly<Record<string, string>> = {};

  /** Its limit of sign-ins is one of addresses: each customer comes from another. */
  constructor(url: string, userHeader?: string, address?: string) {
    this.url = url;
    this.#userHeader = userHeader;
    this.#address = address === undefined ? {} : { 'x-forwarded-for': address };
  }

  async signIn(username: string, password: string): Promise<void> {
    const response = await this.#send('POST', '/api/user/login', { username, password });
    const { data, success, message } = (await response.json()) as Envelope<{ readonly id: number }>;
    if (!success || data === undefined) throw new Error(`${username} could not sign in: ${message}`);
    const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
    this.#headers = {
      cookie: cookies.join('; '),
      ...(this.#userHeader === undefined ? {} : { [this.#userHeader]: String(data.id) }),
    };
  }

  async call<Data>(method: string, path: string, body?: object): Promise<Data> {
    const response = await this.#send(method, path, body);
    const text = await response.text();
    if (!text.startsWith('{'))
      throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 200)}`);
    const { data, success, message } = JSON.parse(text) as Envelope<Data>;
    if (!success) throw new Error(`${method} ${path} was refused: ${message}`);
    // Whoever calls a route knows what it answers.
    return data as Data;
  }

  async #send(method: string, path: string, body?: object): Promise<Response> {
    return await fetch(this.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...this.#address, ...this.#headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

interface Envelope<Data> {
  readonly success: boolean;
  readonly message?: string;
  readonly data?: Data;
}
