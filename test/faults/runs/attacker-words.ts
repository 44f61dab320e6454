const MASKED = 'sk-evil-***…wq7~';
const SERVER = 'gpu-7.internal:8000';

/** What no customer may read of a provider's words. */
export const SECRETS: readonly string[] = [MASKED, 'wq7~', 'gpu-7', '10.11.12.13'];

/** What a provider says about a request, with more than is about it. */
export const TELLING = `The tool choice is not supported. Key ${MASKED} was used at ${SERVER} (10.11.12.13).`;
