import chat from '../../docs/guide/chat.md' with { type: 'text' };
import chatTools from '../../docs/guide/chat-tools.md' with { type: 'text' };
import clients from '../../docs/guide/clients.md' with { type: 'text' };
import errors from '../../docs/guide/errors.md' with { type: 'text' };
import gettingStarted from '../../docs/guide/getting-started.md' with { type: 'text' };
import houseModels from '../../docs/guide/house-models.md' with { type: 'text' };
import idempotency from '../../docs/guide/idempotency.md' with { type: 'text' };
import storedResponses from '../../docs/guide/responses.md' with { type: 'text' };
import imageJobs from '../../docs/guide/image-jobs.md' with { type: 'text' };
import images from '../../docs/guide/images.md' with { type: 'text' };
import limitsAndHeaders from '../../docs/guide/limits-and-headers.md' with { type: 'text' };
import managingAccounts from '../../docs/guide/managing-accounts.md' with { type: 'text' };
import modelsAndEndpoints from '../../docs/guide/models-and-endpoints.md' with { type: 'text' };
import money from '../../docs/guide/money.md' with { type: 'text' };
import runAServer from '../../docs/guide/run-a-server.md' with { type: 'text' };
import selfHosting from '../../docs/guide/self-hosting.md' with { type: 'text' };
import streaming from '../../docs/guide/streaming.md' with { type: 'text' };
import teams from '../../docs/guide/teams.md' with { type: 'text' };
import tokensAndSignIn from '../../docs/guide/tokens-and-sign-in.md' with { type: 'text' };
import webhooks from '../../docs/guide/webhooks.md' with { type: 'text' };

/** The user guides, in reading order. The console shows them at /docs/{slug}; house-guide answers from them. */
export const GUIDES: readonly Guide[] = [
  guide('getting-started', gettingStarted),
  guide('tokens-and-sign-in', tokensAndSignIn),
  guide('chat', chat),
  guide('streaming', streaming),
  guide('images', images),
  guide('image-jobs', imageJobs),
  guide('responses', storedResponses),
  guide('models-and-endpoints', modelsAndEndpoints),
  guide('clients', clients),
  guide('errors', errors),
  guide('limits-and-headers', limitsAndHeaders),
  guide('money', money),
  guide('teams', teams),
  guide('idempotency', idempotency),
  guide('webhooks', webhooks),
  guide('chat-tools', chatTools),
  guide('house-models', houseModels),
  guide('run-a-server', runAServer),
  guide('self-hosting', selfHosting),
  guide('managing-accounts', managingAccounts),
];

interface Guide {
  readonly slug: string;
  readonly title: string;
  /** Markdown, beginning with the title as a first-level heading. */
  readonly text: string;
}

/** A part of a guide under one heading; the part before the first one has the guide's title. */
export interface Section {
  readonly guide: Guide;
  readonly heading: string;
  /** Its path in the console. */
  readonly path: string;
  readonly body: string;
}

export function sectionsOf(source: Guide): Section[] {
  const sections: { heading: string; lines: string[] }[] = [{ heading: source.title, lines: [] }];
  let fenced = false;
  for (const line of source.text.split('\n').slice(1)) {
    if (line.startsWith('```')) fenced = !fenced;
    // A comment in a code block may begin with # as well.
    if (!fenced && line.startsWith('## ')) sections.push({ heading: line.slice(3).trim(), lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ heading, lines }) => ({
    guide: source,
    heading,
    path: heading === source.title ? `/docs/${source.slug}` : `/docs/${source.slug}#${anchorOf(heading)}`,
    body: lines.join('\n').trim(),
  }));
}

/** The id of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

function guide(slug: string, text: string): Guide {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? slug;
  return { slug, title, text };
}
