import { useTranslation } from '../../lib/translation.tsx';
import { limitsOf, resolve, typeName, type ApiDocument, type Reference, type Schema } from './openapi.ts';

interface Row {
  readonly name: string;
  readonly schema: Schema | Reference;
  readonly required: boolean;
}

interface SchemaTableProps {
  readonly title: string;
  readonly document: ApiDocument;
  readonly schema?: Schema | Reference;
  readonly rows?: readonly Row[];
}

const MAX_DEPTH = 4;

/** The fields of an object, one per line; nested objects open in place. */
export function SchemaTable({ title, document, schema, rows }: SchemaTableProps) {
  const shown = rows ?? (schema ? rowsOf(document, schema) : []);
  if (shown.length === 0) return null;
  return (
    <>
      <h3 className="mt-6 mb-2 font-semibold">{title}</h3>
      <Rows document={document} rows={shown} depth={0} />
    </>
  );
}

function Rows({ document, rows, depth }: { document: ApiDocument; rows: readonly Row[]; depth: number }) {
  const { t } = useTranslation();
  return (
    <ul className="divide-y divide-line border-y border-line">
      {rows.map(({ name, schema: given, required }) => {
        const schema = resolve<Schema>(document, given);
        const inner = depth < MAX_DEPTH ? rowsOf(document, given) : [];
        const limits = limitsOf(schema);
        return (
          <li key={name} className="py-2.5">
            <p className="flex flex-wrap items-baseline gap-x-3">
              <code className="font-medium">{name}</code>
              <span className="text-sm break-words text-ink-3">{typeName(document, schema)}</span>
              {required ? <span className="text-sm text-accent">{t('docs.required')}</span> : null}
              {limits ? <span className="text-sm text-ink-3 tabular-nums">{limits}</span> : null}
            </p>
            {schema.description ? <p className="max-w-[68ch] text-ink-2">{schema.description}</p> : null}
            {inner.length > 0 ? (
              <details className="mt-1 pl-4">
                <summary className="text-sm text-accent">
                  {inner
                    .slice(0, 5)
                    .map((row) => row.name)
                    .join(', ')}
                  {inner.length > 5 ? ', …' : ''}
                </summary>
                <div className="mt-2">
                  <Rows document={document} rows={inner} depth={depth + 1} />
                </div>
              </details>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

/** The fields of an object, or of the objects in a list; of several alternatives, the first that has fields. */
function rowsOf(document: ApiDocument, given: Schema | Reference): Row[] {
  const schema = resolve<Schema>(document, given);
  if (schema.properties) {
    return Object.entries(schema.properties).map(([name, property]) => ({
      name,
      schema: property,
      required: schema.required?.includes(name) === true,
    }));
  }
  if (schema.items) return rowsOf(document, schema.items);
  for (const choice of schema.anyOf ?? schema.oneOf ?? []) {
    const rows = rowsOf(document, choice);
    if (rows.length > 0) return rows;
  }
  return [];
}
