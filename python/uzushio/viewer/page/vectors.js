/** Vectors of three numbers. */

export const add = (a, b) => a.map((value, axis) => value + b[axis]);
export const scale = (a, factor) => a.map((value) => value * factor);
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const length = (a) => Math.hypot(...a);
export const unit = (a) => scale(a, 1 / length(a));
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

/** Return a vector rotated about a unit vector (Rodrigues' formula). */
export function rotated(a, axis, degrees) {
  const [sine, cosine] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  return add(
    add(scale(a, cosine), scale(cross(axis, a), sine)),
    scale(axis, dot(axis, a) * (1 - cosine)),
  );
}
