import { useEffect, type ReactNode } from 'react';
import ChevronLeft from 'lucide-react/icons/chevron-left';
import ChevronRight from 'lucide-react/icons/chevron-right';
import Download from 'lucide-react/icons/download';
import MessageSquare from 'lucide-react/icons/message-square';
import { useLocation } from 'wouter';
import { useTranslation } from '../../lib/translation.tsx';
import { Button, IconButton } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { toast } from '../../ui/Toast.tsx';
import { attach } from '../playground/attachments.ts';

export interface Picture {
  readonly key: string;
  readonly src: string;
  /** For lists; if absent, they show the picture itself. */
  readonly thumbnail?: string;
  readonly prompt: string;
  readonly fileName?: string;
}

interface LightboxProps<Item extends Picture> {
  readonly pictures: readonly Item[];
  readonly index: number;
  readonly onIndex: (index: number | undefined) => void;
  readonly children?: (picture: Item) => ReactNode;
}

/** One image enlarged, with its prompt; arrow keys go through the others. */
export function Lightbox<Item extends Picture>({ pictures, index, onIndex, children }: LightboxProps<Item>) {
  const { t } = useTranslation();
  const picture = pictures[index];
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'ArrowLeft' && index > 0) onIndex(index - 1);
      if (event.key === 'ArrowRight' && index < pictures.length - 1) onIndex(index + 1);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [index, pictures.length, onIndex]);
  if (!picture) return null;
  return (
    <Dialog open kind="wide" title={t('images.lightbox')} onClose={() => onIndex(undefined)}>
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <div className="relative grid place-items-center rounded-md bg-sunken">
          <img src={picture.src} alt={picture.prompt} className="max-h-[66dvh] rounded-md object-contain" />
          <Step
            label={t('images.previous')}
            side="left"
            disabled={index === 0}
            onClick={() => onIndex(index - 1)}
          />
          <Step
            label={t('images.next')}
            side="right"
            disabled={index >= pictures.length - 1}
            onClick={() => onIndex(index + 1)}
          />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <div>
            <p className="text-sm text-ink-3">{t('images.prompt')}</p>
            <p className="thin-scroll max-h-40 overflow-y-auto break-words whitespace-pre-wrap">
              {picture.prompt}
            </p>
          </div>
          <Actions picture={picture} />
          {children?.(picture)}
        </div>
      </div>
    </Dialog>
  );
}

function Actions({ picture }: { picture: Picture }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const useInChat = async (): Promise<void> => {
    const response = await fetch(picture.src);
    if (response.ok && (await attach(await response.blob())) === undefined) navigate('/app/playground');
    else toast(t('images.failed'), 'bad');
  };
  return (
    <div className="flex flex-wrap gap-2">
      <a
        href={picture.src}
        download={picture.fileName ?? `image-${picture.key}`}
        className="inline-flex h-8 items-center gap-2 rounded-md bg-accent px-3 text-sm font-medium text-on-accent hover:bg-accent-strong"
      >
        <Download size={14} aria-hidden />
        {t('common.download')}
      </a>
      <CopyButton text={picture.prompt} label={t('images.copyPrompt')} />
      <Button small icon={<MessageSquare size={14} aria-hidden />} onClick={() => void useInChat()}>
        {t('images.useAsInput')}
      </Button>
    </div>
  );
}

interface StepProps {
  readonly label: string;
  readonly side: 'left' | 'right';
  readonly disabled: boolean;
  readonly onClick: () => void;
}

function Step({ label, side, disabled, onClick }: StepProps) {
  if (disabled) return null;
  const Icon = side === 'left' ? ChevronLeft : ChevronRight;
  return (
    <IconButton
      label={label}
      onClick={onClick}
      className={`absolute top-1/2 -translate-y-1/2 border border-line bg-raised ${side === 'left' ? 'left-2' : 'right-2'}`}
    >
      <Icon size={18} aria-hidden />
    </IconButton>
  );
}
