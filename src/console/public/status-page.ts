import { uptimeOf, type FigureDay, type ModelFigures } from '../../activity/model-figures.ts';
import { dayText } from '../amounts.ts';
import type { EndpointItem } from '../models.ts';
import { html, type Markup } from './html.ts';
import type { PageContent, PageContext } from './page-frame.ts';
import { failedText, shareText, shownDay, CARD, cardTitle, stateDot, uptimeStrip } from './page-parts.ts';

/** How everything is doing. It says shares and no numbers of requests: how much is sold is the operator's business. */
export interface ServiceStatus {
  readonly at: number;
  readonly apiIsUp: boolean;
  readonly endpoints: readonly EndpointStatus[];
}

interface EndpointStatus {
  readonly endpoint: EndpointItem;
  /** `undefined`: the store cannot be read now. */
  readonly figures: ModelFigures | undefined;
}

interface Incident {
  readonly endpoint: EndpointItem;
  readonly day: FigureDay;
}

/** A few failures are no incident, nor is one of a hundred requests. */
const INCIDENT = { failures: 3, share: 0.01 };
const MOST_INCIDENTS = 30;

function incidentsOf({ endpoints }: ServiceStatus): Incident[] {
  return endpoints
    .flatMap(({ endpoint, figures }) => (figures?.days ?? []).map((day) => ({ endpoint, day })))
    .filter(({ day }) => day.failures >= INCIDENT.failures && day.failures / day.requests >= INCIDENT.share)
    .toSorted((a, b) => b.day.day - a.day.day)
    .slice(0, MOST_INCIDENTS);
}

function overallState({ apiIsUp, endpoints }: ServiceStatus): EndpointItem['status'] {
  const states = new Set(endpoints.map(({ endpoint }) => endpoint.status));
  if (!apiIsUp || states.has('down')) return 'down';
  return states.has('degraded') ? 'degraded' : 'up';
}

export function statusPage(context: PageContext, status: ServiceStatus): PageContent {
  const { t, siteName, language } = context;
  const overall = overallState(status);
  const sentence = status.apiIsUp
    ? { up: t.allUp, degraded: t.someDegraded, down: t.someDown }[overall]
    : t.apiDown;
  const time = new Date(status.at).toLocaleString(language === 'de' ? 'de-DE' : 'en-US', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  });
  return {
    title: t.statusTitle,
    description: t.statusDescription(siteName),
    path: '/status',
    current: 'status',
    isIndexed: true,
    main: html`<h1 class="text-xl font-semibold tracking-tight">${t.statusTitle}</h1>
      <p class="mt-0.5 max-w-[68ch] text-ink-3">
        ${t.asOf(`${time} UTC`)} ${t.forMonitors}
        <a href="/status.json" class="text-accent underline underline-offset-2">status.json</a>
      </p>
      <p
        role="status"
        class="mt-5 flex items-center gap-3 rounded-lg border px-5 py-4 text-lg font-semibold ${OVERALL[overall]}"
      >
        ${stateDot(overall, context)}${sentence}
      </p>
      <div class="mt-5 flex flex-col gap-5">
        <section class="${CARD}">
          <h2 class="sr-only">${t.models}</h2>
          <ul class="-my-3 divide-y divide-line">
            <li class="flex items-center gap-2.5 py-3">
              ${stateDot(status.apiIsUp ? 'up' : 'down', context)}<span class="font-medium">${t.api}</span
              ><span class="ml-auto text-ink-2">${t.states[status.apiIsUp ? 'up' : 'down']}</span>
            </li>
            ${status.endpoints.map((one) => endpointRow(context, one))}
          </ul>
        </section>
        <section class="${CARD}">
          ${cardTitle(t.incidents)}
          <p class="text-sm text-ink-3">${t.incidentsLead}</p>
          ${incidentList(context, incidentsOf(status))}
        </section>
      </div>`,
  };
}

const OVERALL: Record<EndpointItem['status'], string> = {
  up: 'border-line bg-accent-soft text-accent',
  degraded: 'border-warn-line bg-warn-soft text-warn',
  down: 'border-bad-line bg-bad-soft text-bad',
};

function endpointRow(context: PageContext, { endpoint, figures }: EndpointStatus): Markup {
  const { t, language } = context;
  const uptime = figures?.uptime;
  return html`<li class="py-3">
    <div class="mb-2 flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5">
      <span class="inline-flex min-w-0 items-center gap-2.5"
        >${stateDot(endpoint.status, context)}<span class="font-medium">${endpoint.name}</span
        ><code class="text-sm text-ink-3">${endpoint.endpoint}</code></span
      ><span class="ml-auto text-ink-2"
        >${t.states[endpoint.status]}${uptime === undefined ? undefined : html` · <span class="tabular-nums">${shareText(uptime, language)}</span>`}</span
      >
    </div>
    ${figures ? uptimeStrip(figures.days, context) : undefined}
  </li>`;
}

function incidentList({ t, language }: PageContext, incidents: readonly Incident[]): Markup {
  if (incidents.length === 0) return html`<p class="mt-3">${t.noIncidents}</p>`;
  return html`<ul class="mt-3 -mb-2 divide-y divide-line">
    ${incidents.map(
      ({ endpoint, day }) =>
        html`<li class="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 py-2">
          <span class="w-28 shrink-0 tabular-nums text-ink-3">${shownDay(day.day, language)}</span
          ><span class="min-w-0 flex-1 basis-40">${endpoint.name}</span
          ><span class="tabular-nums">${t.incident(failedText(day.failures / day.requests, language))}</span>
        </li>`,
    )}
  </ul>`;
}

/** The same for programs. */
export function statusJson(status: ServiceStatus) {
  return {
    status: overallState(status),
    api: status.apiIsUp ? 'up' : 'down',
    updated_at: new Date(status.at).toISOString(),
    endpoints: status.endpoints.map(({ endpoint, figures }) => ({
      endpoint: endpoint.endpoint,
      name: endpoint.name,
      type: endpoint.type,
      status: endpoint.status,
      uptime_90_days: rounded(figures?.uptime),
      days: (figures?.days ?? []).map((day) => ({ day: dayText(day.day), uptime: rounded(uptimeOf([day])) })),
    })),
    incidents: incidentsOf(status).map(({ endpoint, day }) => ({
      day: dayText(day.day),
      endpoint: endpoint.endpoint,
      failed_share: rounded(day.failures / day.requests),
    })),
  };
}

/** To a hundredth of a percent; `null`: there were no requests. */
function rounded(share: number | undefined): number | null {
  return share === undefined ? null : Math.floor(share * 10_000) / 10_000;
}
