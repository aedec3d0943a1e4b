/**
 * Motion of the camera in the terms of a pipeline file: azimuth, elevation, zoom, focal point.
 *
 * The formulas are those of `uzushio.render.cameras`. Functions take the section `camera` and return
 * changes of it by key; null removes a key.
 */

import { flatAxis } from "./mesh.js";
import { clamp, fixed, rounded } from "./numbers.js";
import { add, cross, dot, length, rotated, scale, unit } from "./vectors.js";

/** Direction from the domain to each camera, and the upward direction of its picture. */
const NAMED = {
  front: [[0, -1, 0], [0, 0, 1]],
  back: [[0, 1, 0], [0, 0, 1]],
  left: [[-1, 0, 0], [0, 0, 1]],
  right: [[1, 0, 0], [0, 0, 1]],
  top: [[0, 0, 1], [0, 1, 0]],
  bottom: [[0, 0, -1], [0, 1, 0]],
  isometric: [[1, -1, 1], [0, 0, 1]],
};
export const NAMES = Object.keys(NAMED);
/** The same cameras in terms of ones with the vertical as upward axis, about which they can orbit. */
const UPRIGHT = { top: ["front", 90], bottom: ["back", -90] };
/** Share of the picture's width and height within which the domain lies, beside the annotation. */
const INSIDE = 0.85;
const ZOOMS = [0.02, 500];

/** Return the changes for a rotation by degrees, to the right and upwards. */
export function orbit(camera, right, up) {
  const changes = {};
  let { name, elevation = 0, azimuth = 0 } = camera;
  if (UPRIGHT[name] && !camera.up) {
    [changes.name, elevation] = [UPRIGHT[name][0], UPRIGHT[name][1] + elevation];
    name = changes.name;
  }
  const { back, pole } = directions({ ...camera, name });
  const base = (Math.asin(clamp(dot(back, pole), -1, 1)) * 180) / Math.PI;
  changes.azimuth = fixed(((((azimuth + right + 180) % 360) + 360) % 360) - 180);
  changes.elevation = fixed(clamp(elevation + up, -90 - base, 90 - base));
  return changes;
}

/** Return the changes for a factor of the zoom. */
export function zoom(camera, factor) {
  return { zoom: rounded(clamp((camera.zoom ?? 1) * factor, ...ZOOMS), 4) };
}

/**
 * Return the changes with which the picture moves to the right and upwards by shares of its height.
 *
 * @param bounds of the domain along x, y and z.
 * @param aspect columns over rows of the picture.
 */
export function pan(camera, right, up, bounds, aspect) {
  const axes = turnedAxes(camera);
  const size = visibleHeight(camera, axes, bounds, aspect);
  const shift = add(scale(axes[0], -right * size), scale(axes[1], -up * size));
  const diagonal = length(bounds.map(([lo, hi]) => hi - lo));
  const decimals = clamp(5 - Math.floor(Math.log10(diagonal || 1)), 0, 15);
  const moved = (point) => add(point, shift).map((value) => fixed(value, decimals));
  const changes = { focal_point: moved(camera.focal_point ?? centre(bounds)) };
  if (camera.position) changes.position = moved(camera.position);
  return changes;
}

/** Return the section for a preset; it keeps the lens. */
export function preset(camera, name) {
  const { parallel, view_angle } = camera;
  return JSON.parse(JSON.stringify({ name, parallel, view_angle }));
}

/** Return the section with a name, if it has no place: that for a domain of these bounds. */
export function facing(camera, bounds) {
  if (camera.name || camera.position || camera.direction) return camera;
  return { ...camera, name: ["right", "front", "top"][flatAxis(bounds)] ?? "isometric" };
}

/** Return whether the projection is parallel. */
export function isParallel(camera) {
  if (camera.parallel !== undefined && camera.parallel !== null) return camera.parallel;
  const straight = camera.name && camera.name !== "isometric";
  return Boolean(straight && !camera.azimuth && !camera.elevation);
}

/** Return the camera in words. */
export function inWords(camera) {
  const start = camera.position ? `at ${camera.position.join(", ")}`
    : camera.direction ? `from the direction ${camera.direction.join(", ")}`
      : `from ${camera.name ?? "isometric"}`;
  const parts = [`Camera ${start}`];
  for (const key of ["azimuth", "elevation", "roll"]) {
    if (camera[key]) parts.push(`${key} ${camera[key]} degrees`);
  }
  if (camera.zoom && camera.zoom !== 1) parts.push(`zoom ${camera.zoom}`);
  return parts.join(", ");
}

const centre = (bounds) => bounds.map(([lo, hi]) => (lo + hi) / 2);

/** Return the unit vectors from the domain to the camera, and upwards, before the rotations. */
function directions(camera) {
  const named = NAMED[camera.name ?? "isometric"];
  let back = named[0];
  if (camera.position) {
    back = add(camera.position, scale(camera.focal_point ?? [0, 0, 0], -1));
  } else if (camera.direction) back = camera.direction;
  back = unit(back);
  let pole = camera.name ? named[1] : Math.hypot(back[0], back[1]) > 1e-6 ? [0, 0, 1] : [0, 1, 0];
  if (camera.up) pole = unit(camera.up);
  return { back, pole };
}

/** Return the axes right, up and forward, after azimuth, elevation and roll. */
export function turnedAxes(camera) {
  const { back, pole } = directions(camera);
  const up = unit(add(pole, scale(back, -dot(pole, back))));
  let axes = [unit(cross(up, back)), up, scale(back, -1)];
  const turn = (axis, degrees) => (axes = axes.map((one) => rotated(one, axis, degrees)));
  turn(pole, camera.azimuth ?? 0);
  turn(axes[0], -(camera.elevation ?? 0));
  turn(scale(axes[2], -1), camera.roll ?? 0);
  return axes;
}

/** Return the height of the picture in lengths of the mesh, at the focal point. */
function visibleHeight(camera, axes, bounds, aspect) {
  const near = camera.zoom ?? 1;
  const tangent = Math.tan(((camera.view_angle ?? 30) * Math.PI) / 360);
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((corner) =>
    bounds.map((ends, axis) => ends[(corner >> axis) & 1]),
  );
  const seen = corners.map((corner) => axes.map((axis) => dot(corner, axis)));
  const column = (axis) => seen.map((point) => point[axis]);
  const extent = (axis) => Math.max(...column(axis)) - Math.min(...column(axis));
  if (isParallel(camera)) {
    const fit = Math.max(extent(0) / aspect, extent(1)) / INSIDE;
    return (camera.parallel_height ?? fit) / near;
  }
  let distance;
  if (camera.position) {
    distance = length(add(camera.position, scale(camera.focal_point ?? centre(bounds), -1)));
  } else {
    const depths = [aspect * tangent * INSIDE, tangent * INSIDE].map((side, axis) => {
      const low = Math.min(...seen.map((point) => point[axis] + side * point[2]));
      const high = Math.max(...seen.map((point) => point[axis] - side * point[2]));
      return (low - high) / (2 * side);
    });
    distance = dot(centre(bounds), axes[2]) - Math.min(...depths);
  }
  return (2 * tangent * distance) / near;
}
