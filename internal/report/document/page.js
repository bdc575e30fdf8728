// What a page can do beside being read. Without it everything is there, but for its buttons.
(() => {
"use strict";
const all = (of, what) => [...of.querySelectorAll(what)];
const make = (tag, text, more) => Object.assign(document.createElement(tag), {textContent: text}, more);
const button = (text, act) => make("button", text, {type: "button", onclick: act});
const words = cell => {
  const c = cell.cloneNode(true);
  all(c, "sup, .aside").forEach(n => n.remove());
  return c.textContent.replace(/\s+/g, " ").trim();
};

// Arms: a box for each hides its rows, and its lines in charts whose legend names it.
const rows = all(document, "table.figures tbody tr[class]");
const name = row => words(row.querySelector("th"));
const arms = [...new Set(rows.map(name))];
const show = (arm, on) => {
  rows.filter(r => name(r) === arm).forEach(r => r.hidden = !on);
  for (const li of all(document, ".legend li")) {
    const line = li.querySelector("line");
    if (!line || words(li) !== arm) continue;
    li.classList.toggle("off", !on);
    const colour = [...line.classList].find(c => /^(base|c\d+)$/.test(c));
    all(li.closest("figure"), "svg.chart g." + colour).forEach(g => g.style.display = on ? "" : "none");
  }
};
if (arms.length > 2) {
  const field = make("fieldset", "", {className: "tools"});
  field.append(make("legend", "Arms shown"), ...arms.map(arm => {
    const label = make("label", " " + arm);
    label.prepend(make("input", "", {type: "checkbox", checked: true, onchange: e => show(arm, e.target.checked)}));
    return label;
  }));
  document.querySelector("main").prepend(field);
}

// Tables: copy what is shown.
const cells = table => all(table, "tr").filter(r => !r.hidden).map(r => all(r, "th, td").map(words));
const markdown = rows => rows.map((r, i) => "| " + r.map(c => c.replace(/\|/g, "\\|")).join(" | ") + " |" +
  (i ? "" : "\n|" + "---|".repeat(r.length))).join("\n") + "\n";
const csv = rows => rows.map(r => r.map(c => /[",\n]/.test(c) ? '"' + c.replace(/"/g, '""') + '"' : c).join(",")).join("\n") + "\n";
const copy = async (text, said) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page from a file may not have the clipboard
    const area = document.body.appendChild(make("textarea", text));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  said.textContent = "copied";
  setTimeout(() => said.textContent = "", 2000);
};
for (const table of all(document, "table.figures")) {
  const said = make("span", "", {role: "status"}), tools = make("p", "", {className: "tools"});
  tools.append(button("Copy as Markdown", () => copy(markdown(cells(table)), said)), button("Copy as CSV", () => copy(csv(cells(table)), said)), said);
  table.parentElement.after(tools);
}

// Charts: the value nearest to the pointer, and a chart as large as the window.
const hint = document.body.appendChild(make("div", "", {className: "hint", hidden: true}));
for (const svg of all(document, "svg.chart")) {
  const marks = all(svg, "title").map(t => [t.parentElement, t.textContent]).filter(([mark]) => mark.tagName !== "g");
  const figure = svg.closest("figure"), tools = make("p", "", {className: "tools"});
  const large = on => size.textContent = figure.classList.toggle("large", on) ? "Close" : "Enlarge";
  const size = button("Enlarge", () => large());
  tools.append(size);
  figure.append(tools);
  figure.addEventListener("keydown", e => e.key === "Escape" && large(false));
  svg.addEventListener("pointerleave", () => hint.hidden = true);
  svg.addEventListener("pointermove", e => {
    let best = 24, text = ""; // pixels
    for (const [mark, title] of marks) {
      const b = mark.getBoundingClientRect();
      const far = Math.hypot(Math.max(b.left - e.clientX, 0, e.clientX - b.right), Math.max(b.top - e.clientY, 0, e.clientY - b.bottom));
      if (far < best) [best, text] = [far, title];
    }
    hint.hidden = !text;
    hint.textContent = text;
    hint.style.left = Math.min(e.clientX + 14, innerWidth - hint.offsetWidth - 4) + "px";
    hint.style.top = Math.min(e.clientY + 14, innerHeight - hint.offsetHeight - 4) + "px";
  });
}
})();
