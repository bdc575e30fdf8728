// Shows the plan of the form beside Start, and again after each change of the form. Without it a button shows the plan.
"use strict";
const form = document.getElementById("start-form");
if (form) {
  const plan = document.getElementById("plan");
  let asked, timer;
  const refresh = async () => {
    asked?.abort();
    asked = new AbortController();
    try {
      const reply = await fetch("/plan", {method: "POST", body: new URLSearchParams(new FormData(form)), signal: asked.signal});
      const page = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("plan");
      if (!page) return;
      const open = plan.querySelector("details")?.open;
      plan.replaceChildren(...page.childNodes);
      if (open && plan.querySelector("details")) plan.querySelector("details").open = true;
    } catch (err) {
      if (err.name !== "AbortError") throw err;
    }
  };
  // A field that is changed has its mistake no longer.
  const unmark = name => {
    for (const field of form.querySelectorAll(`[name="${name}"]`)) field.removeAttribute("aria-invalid");
    document.getElementById(name + "-wrong")?.replaceChildren();
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(refresh, 400); };
  form.addEventListener("input", event => { unmark(event.target.name); soon(); });
  // A plan without a look at the machine gets one when the comparison that is measured has ended.
  new MutationObserver(() => { if (document.getElementById("unseen")) soon(); })
    .observe(document.getElementById("live-job"), {childList: true, subtree: true, characterData: true});
  if (!document.getElementById("problem")) refresh();
}
