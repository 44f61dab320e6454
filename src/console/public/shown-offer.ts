import type { ModelFigures } from '../../activity/model-figures.ts';
import type { EndpointItem, ModelItem, Usd } from '../contract.ts';

/** One endpoint's offer of a model, with what is known about it. */
export interface ShownOffer {
  readonly item: ModelItem;
  readonly state: EndpointItem['status'];
  readonly typicalUsd: Usd | undefined;
  /** `undefined`: the store cannot be read now. */
  readonly figures: ModelFigures | undefined;
}
