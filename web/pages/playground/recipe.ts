import { useState } from 'react';
import type { ModelItem } from '../../lib/answers.ts';
import { MODELS_KEY, readStored, writeStored } from '../../lib/storage.ts';
import {
  answerParameters,
  EMPTY_FORM,
  type AnswerForm,
  type AnswerParameters,
} from './structured/answerForm.ts';
import { choiceOf } from '../models/group.ts';

/** What a request consists of besides the conversation. Absent parameters are not sent: the model's default applies. */
export interface Recipe {
  readonly endpoint: string;
  readonly model: string;
  readonly system: string;
  readonly parameters: Parameters;
}

interface Parameters extends AnswerParameters {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly stop?: string[];
  readonly seed?: number;
}

/** Texts as they were typed; converted to numbers when a request is made. */
export interface Draft extends AnswerForm {
  readonly choice: string;
  readonly system: string;
  readonly temperature: string;
  readonly topP: string;
  readonly maxTokens: string;
  readonly stop: string;
  readonly seed: string;
}

export const EMPTY_DRAFT: Draft = {
  choice: '',
  system: '',
  temperature: '',
  topP: '',
  maxTokens: '',
  stop: '',
  seed: '',
  ...EMPTY_FORM,
};

/** Drafts survive leaving their page, like the conversations they belong to. */
const kept = new Map<string, Draft>();

export function useDraft(name: string): [Draft, (change: Partial<Draft>) => void] {
  const [draft, setDraft] = useState(
    () => kept.get(name) ?? { ...EMPTY_DRAFT, choice: rememberedModel(name) },
  );
  const change = (next: Partial<Draft>): void =>
    setDraft((before) => {
      if (next.choice !== undefined) rememberModel(name, next.choice);
      const after = { ...before, ...next };
      kept.set(name, after);
      return after;
    });
  return [draft, change];
}

/** The model that was last chosen in a tab of the playground, also before the page was closed; empty if none was. */
export function rememberedModel(name: string): string {
  return rememberedModels().get(name) ?? '';
}

export function rememberModel(name: string, choice: string): void {
  const models = rememberedModels();
  models.set(name, choice);
  writeStored(MODELS_KEY, models.toString());
}

function rememberedModels(): URLSearchParams {
  return new URLSearchParams(readStored(MODELS_KEY));
}

export function recipeOf(draft: Draft, model: ModelItem): Recipe {
  const stop = draft.stop
    .split(',')
    .map((text) => text.trim())
    .filter(Boolean)
    .slice(0, 4);
  const parameters: Parameters = {
    ...numeric('temperature', draft.temperature),
    ...numeric('top_p', draft.topP),
    ...numeric('max_tokens', draft.maxTokens),
    ...numeric('seed', draft.seed),
    ...(stop.length > 0 ? { stop } : {}),
    ...answerParameters(draft, model.tools),
  };
  return { endpoint: model.endpoint, model: model.model, system: draft.system, parameters };
}

export function chosenModel(models: readonly ModelItem[], choice: string): ModelItem | undefined {
  return models.find((model) => choiceOf(model) === choice) ?? models.find((model) => !model.unavailable);
}

function numeric<Key extends keyof Parameters>(key: Key, text: string): Partial<Record<Key, number>> {
  const value = Number(text);
  return text.trim() === '' || !Number.isFinite(value) ? {} : ({ [key]: value } as Record<Key, number>);
}
