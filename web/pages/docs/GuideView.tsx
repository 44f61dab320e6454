import { useEffect, useRef } from 'react';
import { useQuery } from '@tanstack/react-query';
import { guides, type Guide } from 'virtual:guides';
import MarkdownRendered from '../../ui/MarkdownRendered.tsx';
import { Empty, Skeleton } from '../../ui/States.tsx';
import { loadChunk } from '../../lib/chunk.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';

/** The address written in the guides; readers see that of the server they are on. */
const WRITTEN_ORIGIN = 'http://127.0.0.1:8700';

export default function GuideView({ slug, part }: { slug: string; part: string | undefined }) {
  const { t, i18n } = useTranslation();
  const guide = guides.find((item) => item.slug === slug);
  if (!guide) {
    return (
      <>
        <h1 className="sr-only">{t('docs.missing')}</h1>
        <Empty title={t('docs.missing')}>{guides.length === 0 ? t('docs.noGuides') : null}</Empty>
      </>
    );
  }
  return (
    <>
      {i18n.language === 'en' ? null : <p className="mb-4 text-sm text-ink-3">{t('docs.english')}</p>}
      <GuideText guide={guide} part={part} />
    </>
  );
}

function GuideText({ guide, part }: { guide: Guide; part: string | undefined }) {
  const text = useQuery({
    queryKey: ['guide', guide.slug],
    queryFn: async () => (await loadChunk(guide.load)).default,
    staleTime: Infinity,
  });
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!text.data || !box.current) return;
    const wanted = part ?? decodeURIComponent(location.hash.slice(1));
    const target = wanted ? find(box.current, wanted) : undefined;
    target?.scrollIntoView({ block: 'center' });
    target?.setAttribute('data-target', '');
  }, [text.data, part]);
  if (!text.data) return <Skeleton className="h-96 w-full" />;
  return (
    <article ref={box} lang="en" className="max-w-[46rem] text-lg leading-relaxed">
      <MarkdownRendered text={text.data.replaceAll(WRITTEN_ORIGIN, publicOrigin())} document />
    </article>
  );
}

/** The heading or row of that name, else the line that mentions it. */
function find(box: HTMLElement, wanted: string): Element | undefined {
  const named = box.querySelector(`#${CSS.escape(wanted)}`);
  if (named) return named;
  const word = [...box.querySelectorAll('code')].find((code) => code.textContent === wanted);
  return word?.closest('tr, li, p') ?? undefined;
}
