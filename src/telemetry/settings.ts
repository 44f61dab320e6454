/** What the `OTEL_…` variables say, checked. */
export interface TelemetrySettings {
  /** `undefined`: no spans are exported. */
  readonly tracesUrl: string | undefined;
  /** `undefined`: no metrics are exported. */
  readonly metricsUrl: string | undefined;
  readonly format: 'json' | 'protobuf';
  readonly headers: Readonly<Record<string, string>>;
  /** Of one export. */
  readonly timeoutMs: number;
  /** With `service.name`. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerSettings;
  readonly passesTrace: boolean;
  readonly metricsEveryMs: number;
  /** How long spans gather before they are sent. */
  readonly spansEveryMs: number;
  /** How many spans may wait; further ones are dropped. */
  readonly maxWaitingSpans: number;
}

export interface SamplerSettings {
  /** Whether a request whose caller is traced follows the caller's decision. */
  readonly followsParent: boolean;
  /** The share of all other requests, from 0 to 1. */
  readonly share: number;
}
