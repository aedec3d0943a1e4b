/** Mathematical symbols in text: subscripts as in Re_τ, u_{wall}, and powers as in s^-2, as in the pictures. */

import { makeSvg } from "./dom.js";

/** Subscripts, but not parts of names such as q_criterion. */
const LOWERED = /_(?:\{([^{}]+)\}|(\p{L}|\p{Nd}+)(?![\p{L}\p{Nd}_]))/gu;
const POWER = /(?:\^|\*\*)(?:\{([-+0-9n]+)\}|\(([-+0-9n]+)\)|([-+]?[0-9n]+))/g;
const RAISED = Object.fromEntries([..."0123456789-+n"].map((one, place) => [one, [..."⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ"][place]]));
/** Shift of subscripts, in heights of letters. */
const SHIFT = 0.25;

/** Return parts of a text, every second one a subscript. */
function parts(text) {
  const raised = text.replace(POWER, (_, ...found) =>
    [...found.slice(0, 3).find(Boolean)].map((one) => RAISED[one]).join(""));
  return raised.split(LOWERED).filter((part) => part !== undefined);
}

/** Show a text with symbols in an element of HTML, if it has changed. */
export function showSymbols(element, text) {
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(...parts(text).map((part, place) => {
    if (place % 2 === 0) return part;
    const lower = document.createElement("sub");
    lower.append(part);
    return lower;
  }));
}

/** Lower the subscripts in a text of SVG. */
export function lowerSubscripts(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  for (const node of nodes) {
    const texts = parts(node.data);
    if (texts.length < 2) continue;
    node.replaceWith(...texts.map((text, place) => {
      const lower = place % 2 > 0;
      const attributes = place === 0 ? {} : { dy: `${lower ? SHIFT : -SHIFT}em` };
      const part = makeSvg("tspan", { ...attributes, class: lower ? "lowered" : "raised" });
      part.append(text);
      return part;
    }));
  }
}
