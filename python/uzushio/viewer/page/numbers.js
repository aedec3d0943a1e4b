/** Numbers as text. */

/** Return a number with at most `digits` significant digits; an en dash if it is not known. */
export function short(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** Return a value rounded to significant digits, for the document. */
export const rounded = (value, digits = 6) => Number(value.toPrecision(digits));

/** Return a value rounded to decimals. */
export const fixed = (value, decimals = 2) => Number(value.toFixed(decimals));

/** Return a duration as text. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${short(1000 * seconds, 2)} ms`;
  if (seconds < 100) return `${short(seconds, 3)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Return a number between two limits. */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
