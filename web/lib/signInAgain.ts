/** Asks the user to sign in over the page; `false`: there is nobody to ask. */
type AskToSignIn = () => Promise<boolean>;

let ask: AskToSignIn | undefined;
let asking: Promise<boolean> | undefined;

/** The shell knows how to ask. */
export function onSessionEnded(handler: AskToSignIn | undefined): void {
  ask = handler;
}

/** Whether the same user is signed in again. Everything that was refused meanwhile waits for the same answer. */
export async function isSignedInAgain(): Promise<boolean> {
  if (!ask) return false;
  asking ??= ask().finally(() => {
    asking = undefined;
  });
  return await asking;
}
