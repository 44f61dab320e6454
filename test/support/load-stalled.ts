/** Clients that ask for a stream and then read nothing of it. */
export class StalledReaders {
  readonly #sockets: { terminate(): void }[];

  private constructor(sockets: { terminate(): void }[]) {
    this.#sockets = sockets;
  }

  static async start(
    url: string,
    count: number,
    request: { token: string; path: string; body: unknown },
  ): Promise<StalledReaders> {
    const { hostname, port } = new URL(url);
    const body = JSON.stringify(request.body);
    const head = [
      `POST ${request.path} HTTP/1.1`,
      `host: ${hostname}`,
      `authorization: Bearer ${request.token}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    const text = `${head.join('\r\n')}\r\n\r\n${body}`;
    const opened = Array.from({ length: count }, () =>
      Bun.connect({
        hostname,
        port: Number(port),
        socket: {
          open(socket) {
            socket.write(text);
            socket.pause();
          },
          data: () => undefined,
        },
      }),
    );
    return new StalledReaders(await Promise.all(opened));
  }

  leave(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}
