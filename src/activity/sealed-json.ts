import { JSON_LIMITS, type JsonLimits } from '../std/json-scan.ts';
import { parseJson, type JsonText } from '../std/json-parse.ts';
import { openBytes, sealBytes } from '../std/sealed-bytes.ts';

/** It was read within limits before, with all that stood around it. */
const STORED_LIMITS: JsonLimits = {
  ...JSON_LIMITS,
  depth: JSON_LIMITS.depth * 2,
  values: Infinity,
  structure: Infinity,
};

/** Which part of what is meant: nothing is opened as something else. */
export interface SealedLabel {
  readonly part: 'items' | 'head' | 'item';
  readonly accountId: string;
  /** Of the response, or of the conversation. */
  readonly id: string;
  /** Of an item of a conversation. */
  readonly itemId?: string | undefined;
}

/** JSON that is stored encrypted. */
export class SealedJson {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  seal(label: SealedLabel, text: string): Buffer {
    return sealBytes(this.#key, labelText(label), text);
  }

  async open(label: SealedLabel, sealed: Uint8Array): Promise<JsonText> {
    return await parseJson(openBytes(this.#key, labelText(label), sealed), STORED_LIMITS);
  }

  /** What another key has sealed, sealed with this one. */
  again(label: SealedLabel, sealed: Uint8Array, from: Uint8Array): Buffer {
    return sealBytes(this.#key, labelText(label), openBytes(from, labelText(label), sealed));
  }
}

function labelText({ part, accountId, id, itemId }: SealedLabel): string {
  return [part, accountId, id, ...(itemId === undefined ? [] : [itemId])].join(' ');
}
