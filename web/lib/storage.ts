/** The playground's chats; removed when the user signs out. */
export const CHATS_KEY = 'tollgate.chats';

/** The wallet that was chosen to be shown; removed with the other keys. */
export const WALLET_KEY = 'tollgate.wallet';

/** The models chosen in the playground; removed with them. */
export const MODELS_KEY = 'tollgate.models';

/** Browsers may forbid storage; a preference that cannot be stored is not worth an error. */
export function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function writeStored(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Full or forbidden: the setting lasts for this page only.
  }
}
