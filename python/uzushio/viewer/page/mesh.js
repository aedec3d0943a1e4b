/** Fields and meshes of the stream, for the controls. */

const COMPONENTS = ["x", "y", "z"];

/** Return the mesh of a field; derived fields are taken to be on the first mesh. */
function meshOf(description, name) {
  const field = description?.fields.find((one) => name === one.name || name?.startsWith(`${one.name}.`));
  const meshes = description?.meshes ?? [];
  return meshes.find((mesh) => mesh.name === field?.mesh) ?? meshes[0];
}

/** Return the bounds of the mesh of a field along x, y and z. */
export const boundsOf = (description, name) =>
  meshOf(description, name)?.bounds ?? [[0, 1], [0, 1], [0, 1]];

/** Return the bounds of all meshes together. */
export function allBounds(description) {
  const meshes = description?.meshes ?? [];
  if (!meshes.length) return boundsOf(null);
  return [0, 1, 2].map((axis) => [
    Math.min(...meshes.map((mesh) => mesh.bounds[axis][0])),
    Math.max(...meshes.map((mesh) => mesh.bounds[axis][1])),
  ]);
}

/** Return names of the scalars that can be drawn: fields, components of vectors, derived fields. */
export function scalars(description, sources) {
  const names = (description?.fields ?? []).flatMap(({ name, components }) => {
    if (components === 1) return [name];
    const parts = components <= 3 ? COMPONENTS : [...Array(components).keys()];
    return parts.slice(0, components).map((part) => `${name}.${part}`);
  });
  for (const [name, source] of Object.entries(sources ?? {})) {
    if (source.kind === "vorticity" || (source.kind === "gradient" && !source.axis)) {
      names.push(...COMPONENTS.map((part) => `${name}.${part}`));
    } else names.push(name);
  }
  return names;
}

/** Return the unit of a field; "" if it has none or is not known. */
export function unitOf(description, sources, name) {
  const source = sources?.[name];
  if (source) return source.unit ?? "";
  return description?.fields.find((one) => name === one.name || name?.startsWith(`${one.name}.`))?.unit ?? "";
}

/** Return the range of a field; null if it is not known. */
export const rangeOf = (description, name) =>
  description?.fields.find((one) => one.name === name)?.range ?? null;
