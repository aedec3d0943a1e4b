/** Choice of the view: this page's own, or another page's. */

import { byId, make } from "./dom.js";

/** Connect the choice. */
export function connectFollow(store, send) {
  const choice = byId("follow");
  choice.addEventListener("change", () => {
    store.followed = choice.value === store.hello.view ? null : choice.value;
    send({ type: "follow", view: store.followed });
  });
  store.on("viewers view hello", () => {
    const own = store.hello?.view;
    const views = store.viewers?.views ?? {};
    const others = Object.keys(views).filter((name) => name !== own);
    const text = (name) => {
      const pages = views[name]?.filter((page) => page !== store.hello?.page).length ?? 0;
      const title = name === own ? "mine" : name;
      return pages ? `${title} (${pages} ${pages === 1 ? "other page" : "other pages"})` : title;
    };
    const pairs = [own, ...others].filter(Boolean).map((name) => [name, text(name)]);
    const shown = JSON.stringify(pairs);
    if (choice.dataset.choices !== shown) {
      choice.dataset.choices = shown;
      choice.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
    }
    choice.value = store.view?.view ?? own;
    choice.parentElement.hidden = pairs.length < 2 && text(own) === "mine";
  });
  // After a lost connection the gateway shows the page's own view.
  store.on("hello", () => {
    if (store.followed) send({ type: "follow", view: store.followed });
  });
}
