const formatter = formatters(
  (language, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options),
);

export function formatCount(value: number, language: string): string {
  return formatter(language, { maximumFractionDigits: 0 }).format(value);
}

/** 128,000 → 128K; for windows, axes and chips. */
export function formatCompact(value: number, language: string): string {
  return formatter(language, { notation: 'compact', maximumSignificantDigits: 3 }).format(value);
}

/** A tick of an axis, with as many digits as its step, so that no two ticks look the same. */
export function formatCompactTick(value: number, step: number, language: string): string {
  const unit = 10 ** (Math.floor(Math.log10(Math.max(value, 1)) / 3) * 3);
  const digits = Math.min(6, Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9)));
  return formatter(language, { notation: 'compact', maximumFractionDigits: digits }).format(value);
}

export function formatPercent(share: number, language: string): string {
  return formatter(language, {
    style: 'percent',
    maximumFractionDigits: share > 0 && share < 0.1 ? 1 : 0,
  }).format(share);
}

/** Rounds so that a share below one is never shown as 100 %. */
export function formatShare(share: number, language: string): string {
  const shown = share < 1 ? Math.min(share, 0.9999) : share;
  return formatter(language, { style: 'percent', maximumFractionDigits: 2 }).format(shown);
}

/** Two significant digits: 0.42, 8.3, 120. */
export function formatSpeed(value: number, language: string): string {
  return formatter(language, { maximumSignificantDigits: 2 }).format(value);
}

/** A difference with its sign: +12 %, −3.4 %. */
export function formatChange(share: number, language: string): string {
  return formatter(language, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: Math.abs(share) < 0.1 ? 1 : 0,
  }).format(share);
}

/** 84 ms, 1.24 s, 3 min 12 s: at most three digits. */
export function formatDuration(milliseconds: number, language: string): string {
  if (milliseconds < 1000)
    return `${formatter(language, { maximumFractionDigits: 0 }).format(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60)
    return `${formatter(language, { maximumFractionDigits: seconds < 10 ? 2 : 1 }).format(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function formatBytes(bytes: number, language: string): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024)
    return `${formatter(language, { maximumFractionDigits: 0 }).format(bytes / 1024)} kB`;
  return `${formatter(language, { maximumFractionDigits: 1 }).format(bytes / 1024 / 1024)} MB`;
}

/** Keeps one formatter for each language and options: creating one takes longer than using it a hundred times. */
export function formatters<Options, Format>(
  make: (language: string, options: Options) => Format,
): (language: string, options: Options) => Format {
  const known = new Map<string, Format>();
  return (language, options) => {
    const key = language + JSON.stringify(options);
    const found = known.get(key) ?? make(language, options);
    known.set(key, found);
    return found;
  };
}
