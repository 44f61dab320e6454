import { useEffect, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { send, type ApiError } from '../../lib/api.ts';
import { Badge } from '../../ui/Badge.tsx';
import { Code } from '../../ui/Code.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import {
  endpointsOf,
  isPublic,
  resolve,
  type ApiDocument,
  type ApiResponse,
  type Endpoint,
  type Parameter,
} from './openapi.ts';
import { CODE_LANGUAGES, requestCode, type CodeLanguage } from './requestCode.ts';
import { SchemaTable } from './SchemaTable.tsx';
import { TryIt } from './TryIt.tsx';
import { publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';

const PATH = '/api/public/v1/openapi.json';

/** The public API, rendered from the document that the server itself publishes. */
export function Reference({ part }: { part: string | undefined }) {
  const { t } = useTranslation();
  const document = useQuery<ApiDocument, ApiError>({
    queryKey: ['openapi'],
    // Our own document, tested on the server's side: its shape is known.
    queryFn: async ({ signal }) =>
      (await (await send('GET', PATH, undefined, { signal })).json()) as ApiDocument,
    staleTime: Infinity,
  });
  const [language, setLanguage] = useState<CodeLanguage>('curl');
  useEffect(() => {
    if (document.data && part) globalThis.document.getElementById(part)?.scrollIntoView();
  }, [document.data, part]);
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">{t('docs.api')}</h1>
      <p className="mt-1 mb-8 text-lg text-ink-2">
        {t('docs.apiLead', { base: `${publicOrigin()}/api/public/v1` })}
      </p>
      <Loaded query={document} skeleton={<Skeleton className="h-96 w-full" />}>
        {(data) => (
          <div className="flex flex-col gap-14">
            {endpointsOf(data).map((endpoint) => (
              <OperationView
                key={endpoint.operation.operationId}
                document={data}
                endpoint={endpoint}
                language={language}
                onLanguage={setLanguage}
              />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

interface OperationViewProps extends ExampleProps {
  readonly document: ApiDocument;
}

interface ExampleProps {
  readonly endpoint: Endpoint;
  /** One choice for the whole page. */
  readonly language: CodeLanguage;
  readonly onLanguage: (language: CodeLanguage) => void;
}

function OperationView({ document, endpoint, language, onLanguage }: OperationViewProps) {
  const { t } = useTranslation();
  const { operation, method, path } = endpoint;
  const parameters = (operation.parameters ?? []).map((parameter) => resolve<Parameter>(document, parameter));
  const body = operation.requestBody?.content['application/json'];
  const form = operation.requestBody?.content['multipart/form-data'];
  const fields = (body ?? form)?.schema;
  return (
    <section id={operation.operationId} className="scroll-mt-20 border-t border-line pt-8">
      <h2 className="text-xl font-semibold tracking-tight">{operation.summary}</h2>
      <p className="mt-2 flex flex-wrap items-center gap-2">
        <Badge tone={method === 'GET' ? 'neutral' : 'good'} mono>
          {method}
        </Badge>
        <code className="text-sm break-all">{path}</code>
        {isPublic(operation) ? <Badge>{t('docs.noToken')}</Badge> : null}
      </p>
      {operation.description ? <p className="mt-3 max-w-[68ch] text-ink-2">{operation.description}</p> : null}
      <RequestExample
        endpoint={endpoint}
        language={language}
        onLanguage={onLanguage}
        parameters={parameters}
      />
      {parameters.length > 0 ? (
        <SchemaTable
          title={t('docs.parameters')}
          document={document}
          rows={parameters.map(({ name, schema, required, description }) => ({
            name,
            schema: { ...schema, ...(description ? { description } : {}) },
            required: required === true,
          }))}
        />
      ) : null}
      {fields ? <SchemaTable title={t('docs.body')} document={document} schema={fields} /> : null}
      <Answers document={document} responses={operation.responses} />
      {operation.requestBody && !body ? null : (
        // A form with files cannot be edited as text.
        <TryIt
          endpoint={endpoint}
          parameters={parameters}
          example={Object.values(body?.examples ?? {})[0]?.value}
        />
      )}
    </section>
  );
}

/** The request in several languages, except for a form with files: its example is in the guides. */
function RequestExample({
  endpoint: { method, path, operation },
  parameters,
  language,
  onLanguage,
}: ExampleProps & { parameters: readonly Parameter[] }) {
  const { t } = useTranslation();
  const content = operation.requestBody?.content;
  const body = Object.values(content?.['application/json']?.examples ?? {})[0]?.value;
  if (content && body === undefined) return null;
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((parameter) => parameter.name === name)?.example;
    return typeof example === 'string' ? example : whole;
  });
  const request = { method, url: `${publicOrigin()}${filled}`, needsToken: !isPublic(operation), body };
  return (
    <Tabs
      className="mt-4"
      label={t('docs.language')}
      value={language}
      onChange={onLanguage}
      tabs={(Object.keys(CODE_LANGUAGES) as CodeLanguage[]).map((value) => ({
        value,
        label: CODE_LANGUAGES[value],
      }))}
    >
      <Code
        label={`${operation.summary}, ${CODE_LANGUAGES[language]}`}
        code={requestCode(language, request)}
      />
    </Tabs>
  );
}

function Answers({
  document,
  responses,
}: {
  document: ApiDocument;
  responses: Endpoint['operation']['responses'];
}) {
  const { t } = useTranslation();
  const all = Object.entries(responses).map(([status, given]) => ({
    status,
    response: resolve<ApiResponse>(document, given),
  }));
  const content = all.find(({ status }) => status === '200')?.response.content?.['application/json'];
  const example = Object.values(content?.examples ?? {})[0]?.value;
  return (
    <>
      {content?.schema ? (
        <SchemaTable title={t('docs.answer')} document={document} schema={content.schema} />
      ) : null}
      {example === undefined ? null : (
        <Code
          className="mt-4"
          label={t('docs.example')}
          caption={t('docs.example')}
          code={JSON.stringify(example, null, 2)}
        />
      )}
      <h3 className="mt-6 mb-2 font-semibold">{t('docs.answers')}</h3>
      <ul className="flex flex-col gap-1.5">
        {all.map(({ status, response }) => (
          <li key={status} className="flex items-baseline gap-3">
            <Badge tone={status === '200' ? 'good' : 'neutral'} mono>
              {status}
            </Badge>
            <span className="text-ink-2">{response.description}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
