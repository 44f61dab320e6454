import { useTranslation } from 'react-i18next';

/** An event in the reader's language; one without a text keeps its code. */
export function useEventName(): (event: string) => string {
  const { t, i18n } = useTranslation();
  return (event) => {
    const key = `webhooks.event.${event.replaceAll('.', '_')}`;
    return i18n.exists(key) ? t(key as never) : event;
  };
}
