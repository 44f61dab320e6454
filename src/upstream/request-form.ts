import {
  CAP_FIELDS,
  IMAGE_FORMATS,
  type CapField,
  type ImageFormat,
  type RequestForm,
} from '../catalog/catalog.ts';

interface Family {
  readonly name: RegExp;
  readonly form: RequestForm;
}

/**
 * Families of OpenAI's models that refuse what other models and servers take. From the API reference
 * (https://developers.openai.com/api/reference): `max_tokens` of chat completions is "not compatible with o-series
 * models", and every model since GPT-5 answers it with 400 `unsupported_parameter`; `response_format` of images is
 * "unsupported for GPT image models, which always return base64-encoded images".
 *
 * A number ends at a dot, a dash or the name's end: `gpt-35-turbo` is Azure's GPT-3.5, and `o1x` is not OpenAI's.
 */
const FAMILIES: readonly Family[] = [
  { name: /^gpt-(?:[5-9]|1\d)(?:[.-]|$)/i, form: { capField: 'max_completion_tokens' } },
  { name: /^o[1-9](?:-|$)/i, form: { capField: 'max_completion_tokens' } },
  { name: /^(?:chat)?gpt-image-/i, form: { imageFormat: 'default' } },
  { name: /^dall-e-/i, form: { imageFormat: 'b64_json' } },
];

/** `gpt-5-mini` of `openai/gpt-5-mini:free` and `ft:gpt-5-mini:team::id`; of another publisher's model, the publisher. */
const OWN_NAME = /^(?:(?:.*\/)?(?:openai|azure)\/)?(?:ft:)?([^/:]+)/i;

/** How a request for this model is written, as far as its name tells. */
export function formOfName(model: string): RequestForm {
  const name = OWN_NAME.exec(model)?.[1] ?? model;
  return FAMILIES.find((family) => family.name.test(name))?.form ?? {};
}

/** Names come from the catalog; the limit is for a process that lives through very many catalogs. */
const MAX_REMEMBERED = 10_000;

/** How requests to one upstream are written: what the model's entry says, then the upstream's options, then the name. */
export class RequestForms {
  readonly #options: RequestForm;
  readonly #byModel = new Map<string, RequestForm>();

  constructor(options: ReadonlyMap<string, string>) {
    this.#options = {
      capField: oneOf<CapField>(CAP_FIELDS, options.get('cap_field')),
      imageFormat: oneOf<ImageFormat>(IMAGE_FORMATS, options.get('image_format')),
    };
  }

  of({ model, form }: { readonly model: string; readonly form?: RequestForm | undefined }): RequestForm {
    const usual = this.#byModel.get(model) ?? this.#remember(model);
    return form ? over(form, usual) : usual;
  }

  #remember(model: string): RequestForm {
    if (this.#byModel.size >= MAX_REMEMBERED) this.#byModel.clear();
    const form = over(this.#options, formOfName(model));
    this.#byModel.set(model, form);
    return form;
  }
}

function over(first: RequestForm, then: RequestForm): RequestForm {
  return {
    capField: first.capField ?? then.capField,
    imageFormat: first.imageFormat ?? then.imageFormat,
  };
}

/** The catalog has refused other values. */
function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined {
  return values.find((value) => value === text);
}
