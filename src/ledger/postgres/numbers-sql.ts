import { storedFunction } from '../../store/stored-functions.ts';
import { LOOK_UP_BY_KEY } from './planner-settings.ts';

/**
 * The numbers of values that repeat, in the order of the arguments; those that have none yet get one. Whoever comes at the
 * same moment waits for the other's commit, which waits for the disk.
 */
export const LEDGER_NUMBERS = storedFunction(`
CREATE FUNCTION ledger_numbers(
  p_value text[], p_input bigint[], p_cached bigint[], p_output bigint[], p_image bigint[], o_kind text[], o_endpoint text[],
  o_model text[], b_name text[], n_name text[],
  OUT prices integer[], OUT routes integer[], OUT backends integer[], OUT nodes integer[]
) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO price (value, input, cached_input, output, image)
    SELECT * FROM unnest(p_value, p_input, p_cached, p_output, p_image) AS q (value, input, cached, output, image)
    WHERE NOT EXISTS (SELECT 1 FROM price p WHERE p.value = q.value) ORDER BY value ON CONFLICT DO NOTHING;
  INSERT INTO route (kind, endpoint, model)
    SELECT * FROM unnest(o_kind, o_endpoint, o_model) AS q (kind, endpoint, model)
    WHERE NOT EXISTS (SELECT 1 FROM route o WHERE o.endpoint = q.endpoint AND o.model = q.model AND o.kind = q.kind)
    ORDER BY endpoint, model, kind ON CONFLICT DO NOTHING;
  INSERT INTO backend (name)
    SELECT name FROM unnest(b_name) AS q (name)
    WHERE NOT EXISTS (SELECT 1 FROM backend b WHERE b.name = q.name) ORDER BY name ON CONFLICT DO NOTHING;
  INSERT INTO node (name)
    SELECT name FROM unnest(n_name) AS q (name)
    WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.name = q.name) ORDER BY name ON CONFLICT DO NOTHING;
  SELECT array_agg(p.id ORDER BY place) INTO prices
    FROM unnest(p_value) WITH ORDINALITY AS q (value, place) JOIN price p ON p.value = q.value;
  SELECT array_agg(o.id ORDER BY place) INTO routes
    FROM unnest(o_kind, o_endpoint, o_model) WITH ORDINALITY AS q (kind, endpoint, model, place)
    JOIN route o ON o.endpoint = q.endpoint AND o.model = q.model AND o.kind = q.kind;
  SELECT array_agg(b.id ORDER BY place) INTO backends
    FROM unnest(b_name) WITH ORDINALITY AS q (name, place) JOIN backend b ON b.name = q.name;
  SELECT array_agg(n.id ORDER BY place) INTO nodes
    FROM unnest(n_name) WITH ORDINALITY AS q (name, place) JOIN node n ON n.name = q.name;
END $$`);
