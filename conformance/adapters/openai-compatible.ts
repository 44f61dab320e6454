import { CHAT_MODEL } from '../backend/backend.ts';
import type { Adapter, Gateway } from '../gateway.ts';

/** Any running server whose backend is set to the address that the start prints: judged by what that backend sees. */
export const openAiCompatible: Adapter = {
  name: 'openai-compatible',
  about: 'the server at GATEWAY_URL, in front of the backend at BACKEND_PORT',
  start({ backend }): Promise<Gateway> {
    const { GATEWAY_URL: url, GATEWAY_KEY: key, GATEWAY_MODEL: model = CHAT_MODEL } = process.env;
    if (url === undefined)
      return Promise.reject(new Error('set GATEWAY_URL to the base URL of a running gateway, ending in /v1'));
    return Promise.resolve({
      version: url,
      settings: [`model ${model}`, `its backend must be ${backend.url}`],
      shims: [],
      nodes: [url],
      chatModel: model,
      thinkingModel: model,
      headers: { authorization: `Bearer ${key}` },
      limitsBy: 'clock',
      settleMs: 0,
      recoverMs: 0,
      stop: () => Promise.resolve(),
    });
  },
};
