/** Elements of the document. */

/**
 * Return a new element.
 *
 * Properties are set on the element; those with a hyphen, and `role`, are attributes.
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return a new SVG element with attributes. */
export function makeSvg(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/**
 * Return the element with an id.
 *
 * @returns {any} index.html says of what type it is.
 */
export const byId = (id) => document.getElementById(id);

/** Offer a file for download. */
export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Return a button. */
export function button(text, action, properties = {}) {
  const element = make("button", { type: "button", ...properties }, text);
  element.addEventListener("click", action);
  return element;
}
