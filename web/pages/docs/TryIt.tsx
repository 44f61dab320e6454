import { useState } from 'react';
import Play from 'lucide-react/icons/play';
import { useFreshToken } from '../../lib/freshToken.ts';
import { formatDuration } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { Code } from '../../ui/Code.tsx';
import { Field, Textarea, TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { isPublic, type Endpoint, type Parameter } from './openapi.ts';
import { useTry, type Tried } from './useTry.ts';
import { Form } from '../../ui/Form.tsx';

interface TryItProps {
  readonly endpoint: Endpoint;
  readonly parameters: readonly Parameter[];
  readonly example: unknown;
}

/** Sends a real request from the page. Closed at first: most readers only read. */
export function TryIt({ endpoint, parameters, example }: TryItProps) {
  const { t } = useTranslation();
  return (
    <details className="mt-6 rounded-lg border border-line bg-surface">
      <summary className="flex items-center gap-2 px-5 py-3 font-medium">
        <Play size={14} aria-hidden className="text-accent" />
        {t('docs.try')}
      </summary>
      <div className="border-t border-line p-5">
        <TryForm endpoint={endpoint} parameters={parameters} example={example} />
      </div>
    </details>
  );
}

function TryForm({ endpoint, parameters, example }: TryItProps) {
  const { t } = useTranslation();
  const fresh = useFreshToken();
  const [token, setToken] = useState(fresh ?? '');
  const [values, setValues] = useState<Record<string, string>>(() => firstValues(parameters));
  const [body, setBody] = useState(example === undefined ? '' : JSON.stringify(example, null, 2));
  const attempt = useTry();
  const badJson = body !== '' && !isJson(body);
  return (
    <Form
      onSubmit={() => {
        if (!badJson) void attempt.send({ endpoint, parameters, values, token: token.trim(), body });
      }}
    >
      <p className="text-sm text-ink-3">{t('docs.tryLead')}</p>
      <TextField
        label={t('docs.token')}
        type="password"
        autoComplete="off"
        placeholder="sk-…"
        className="font-mono"
        required={!isPublic(endpoint.operation)}
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      {parameters.map((parameter) => (
        <TextField
          key={parameter.name}
          label={<code>{parameter.name}</code>}
          required={parameter.required === true}
          className="font-mono"
          value={values[parameter.name] ?? ''}
          onChange={(event) => setValues({ ...values, [parameter.name]: event.target.value })}
        />
      ))}
      {example === undefined ? null : (
        <Field label={t('docs.body')} error={badJson ? t('docs.badJson') : undefined}>
          {(ids) => (
            <Textarea
              {...ids}
              rows={10}
              spellCheck={false}
              className="font-mono text-sm"
              value={body}
              onChange={(event) => setBody(event.target.value)}
            />
          )}
        </Field>
      )}
      <Button type="submit" kind="primary" busy={attempt.busy} className="self-start">
        {t('docs.send')}
      </Button>
      <FormError error={attempt.error} />
      {attempt.tried ? <Outcome tried={attempt.tried} /> : null}
    </Form>
  );
}

function Outcome({ tried }: { tried: Tried }) {
  const { t, i18n } = useTranslation();
  return (
    <div role="status" className="flex flex-col gap-3">
      <p className="flex flex-wrap items-center gap-3 text-sm">
        <Badge tone={tried.status < 400 ? 'good' : 'bad'} mono>
          {tried.status}
        </Badge>
        <span className="text-ink-3 tabular-nums">{formatDuration(tried.durationMs, i18n.language)}</span>
      </p>
      {tried.headers ? (
        <Code label={t('docs.headers')} caption={t('docs.headers')} code={tried.headers} />
      ) : null}
      <Code label={t('docs.answer')} caption={t('docs.answer')} code={tried.text} />
      {tried.pictures.map((picture, index) => (
        <img
          key={picture.slice(-40)}
          src={picture}
          alt={t('docs.picture', { number: index + 1 })}
          className="max-w-64 rounded-md border border-line"
        />
      ))}
    </div>
  );
}

function firstValues(parameters: readonly Parameter[]): Record<string, string> {
  return Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name, example }) => [name, typeof example === 'string' ? example : '']),
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
