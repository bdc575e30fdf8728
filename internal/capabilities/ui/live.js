// Puts the parts of the page that have changed into their places, as the server sends them. Without it
// the page is the same after a reload.
"use strict";
const live = document.getElementById("live");
if (live) new EventSource("/events").onmessage = event => {
  const news = document.createElement("template");
  news.innerHTML = event.data;
  for (const part of news.content.children) {
    const old = document.getElementById(part.id);
    if (!old || old.innerHTML === part.innerHTML) continue;
    const focused = document.activeElement.id, moved = [...old.querySelectorAll(".scroll")].map(e => e.scrollLeft);
    old.innerHTML = part.innerHTML;
    old.querySelectorAll(".scroll").forEach((e, i) => e.scrollLeft = moved[i] || 0);
    // The button that had the focus may have gone: the focus stays near it.
    if (document.activeElement === document.body && focused) (document.getElementById(focused) || document.getElementById("now")).focus();
  }
};
