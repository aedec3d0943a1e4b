/** Fields and meshes of the stream, for the controls. */

const COMPONENTS = ["x", "y", "z"];

/** Return the fields that a name means: one, or those of several zones, which are called zone/name. */
function fieldsOf(description, name) {
  const fields = description?.fields ?? [];
  const plain = (one) => (one.name.startsWith(`${one.mesh}/`) ? one.name.slice(one.mesh.length + 1) : null);
  const own = fields.filter((one) => name === one.name || name?.startsWith(`${one.name}.`));
  if (own.length) return own;
  return fields.filter((one) => plain(one) !== null && (name === plain(one) || name?.startsWith(`${plain(one)}.`)));
}

/** Return the least bounds that contain some meshes along x, y and z; a unit cube without meshes. */
function unionOf(meshes) {
  return [0, 1, 2].map((axis) => [
    meshes.length ? Math.min(...meshes.map((mesh) => mesh.bounds[axis][0])) : 0,
    meshes.length ? Math.max(...meshes.map((mesh) => mesh.bounds[axis][1])) : 1,
  ]);
}

/** Return the bounds of all meshes of a field along x, y and z; of a derived field, those of all meshes. */
export function boundsOf(description, name) {
  const names = fieldsOf(description, name).map((field) => field.mesh);
  const meshes = description?.meshes ?? [];
  return unionOf(names.length ? meshes.filter((mesh) => names.includes(mesh.name)) : meshes);
}

/** Return the bounds of all meshes together. */
export const allBounds = (description) => unionOf(description?.meshes ?? []);

/** Return the axis along which bounds are flat, as `uzushio.render.cameras.flat_axis`; -1 if there is none. */
export function flatAxis(bounds) {
  const extents = bounds.map(([low, high]) => high - low);
  const [thin, middle] = [...extents].sort((one, other) => one - other);
  return thin <= 0.02 * middle ? extents.indexOf(thin) : -1;
}

/** Return the normal of a plane for which none is given. */
export const defaultNormal = (bounds) => "xyz"[flatAxis(bounds)] ?? "z";

/** Return names of the scalars that can be drawn: fields, components of vectors, derived fields. */
export function scalars(description, sources) {
  const fields = description?.fields ?? [];
  const several = fields.flatMap((field) => {
    const name = field.name.startsWith(`${field.mesh}/`) ? field.name.slice(field.mesh.length + 1) : null;
    const zones = name === null ? [] : fieldsOf(description, name);
    return zones.length > 1 && zones[0] === field ? [{ ...field, name }] : [];
  });
  const names = [...several, ...fields].flatMap(({ name, components }) => {
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
  return fieldsOf(description, name)[0]?.unit ?? "";
}

/** Return the range of a field, also of a derived one that was drawn; null if it is not known. */
export function rangeOf(description, name) {
  const found = description?.ranges?.[name];
  if (found) return found;
  const ranges = fieldsOf(description, name)
    .filter((one) => one.components === 1 && one.range)
    .map((one) => one.range);
  if (!ranges.length) return null;
  return [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
}
