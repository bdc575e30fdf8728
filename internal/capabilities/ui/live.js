// Makes the parts of the page that the server sends like what it has sent. Without it the page is the same after a reload.
"use strict";

// renew changes what differs in an element, and nothing else: so the focus, what is chosen, opened or scrolled, and what a
// reader marks with the pointer, stay.
const renew = (old, fresh) => {
  if (old.isEqualNode(fresh)) return;
  for (const {name, value} of [...fresh.attributes]) old.setAttribute(name, value);
  for (const {name} of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  const stays = new Set([...fresh.children].map(child => child.id));
  for (const child of [...old.children]) if (child.id && !stays.has(child.id)) child.remove();
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = at && at.nodeName === child.nodeName && (at.id ?? "") === (child.id ?? "");
    if (!same) old.insertBefore(child, at);
    else {
      child.nodeType === Node.ELEMENT_NODE ? renew(at, child) : at.nodeValue = child.nodeValue;
      at = at.nextSibling;
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
};

new EventSource("/events").onmessage = event => {
  const news = document.createElement("template"), focused = document.activeElement.id;
  news.innerHTML = event.data;
  for (const part of news.content.querySelectorAll("[data-live]")) {
    const old = document.getElementById(part.id);
    if (old) renew(old, part);
  }
  // The button that had the focus may have gone: the focus stays near it.
  if (document.activeElement === document.body && focused) (document.getElementById(focused) || document.getElementById("now")).focus();
};

// Stop does not leave the page. What else the server answers is shown as without script.
document.addEventListener("submit", async event => {
  const form = event.target;
  if (form.getAttribute("action") !== "/stop") return;
  event.preventDefault();
  const reply = await fetch("/stop", {method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual"}).catch(() => null);
  if (reply?.type !== "opaqueredirect") form.submit();
});

// A choice that cannot stand side by side is told beside the button.
document.getElementById("choose")?.addEventListener("submit", event => {
  const n = document.querySelectorAll(".runs input:checked").length, most = event.target.dataset.most;
  if (n >= 2 && n <= most) return;
  event.preventDefault();
  document.getElementById("chosen").textContent = `Choose 2 to ${most} runs; ${n === 1 ? "1 is" : n + " are"} chosen.`;
});
