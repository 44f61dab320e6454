import { useTranslation } from '../../lib/translation.tsx';

/** An event, or the subject of a mail, in the reader's language; one without a text keeps its code. */
export function useEventName(): (event: string) => string {
  const { t, i18n } = useTranslation();
  return (event) => {
    const name = event.replaceAll('.', '_');
    const key = [`webhooks.event.${name}`, `messages.topic.${name}`].find((one) => i18n.exists(one));
    return key === undefined ? event : t(key as never);
  };
}
