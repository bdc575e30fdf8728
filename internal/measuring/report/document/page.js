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
const rows = all(document, "table.figures tbody tr[class], table.overview tbody tr");
const name = row => words(row.querySelector("th"));
const arms = [...new Set(rows.map(name))];
const show = (arm, on) => {
  rows.filter(r => name(r) === arm).forEach(r => r.hidden = !on);
  for (const li of all(document, ".legend li")) {
    const line = li.querySelector("line");
    if (!line || words(li) !== arm) continue;
    li.classList.toggle("off", !on);
    const colour = [...line.classList].find(c => /^(base|c\d+)$/.test(c));
    const dash = line.classList.contains("dash") ? ".dash" : ":not(.dash)"; // a copy has the colour of its original
    all(li.closest("figure"), "svg.chart g." + colour + dash).forEach(g => g.style.display = on ? "" : "none");
  }
  all(document, "[data-arm]").filter(g => g.dataset.arm === arm).forEach(g => g.style.display = on ? "" : "none");
  all(document, "figcaption").filter(c => words(c) === arm).forEach(c => c.closest("figure").hidden = !on);
};
if (arms.length > 2) {
  const field = make("fieldset", "", {className: "tools"});
  field.append(make("legend", "Arms shown"), ...arms.map(arm => {
    const label = make("label", " " + arm);
    label.prepend(make("input", "", {type: "checkbox", checked: true, onchange: e => show(arm, e.target.checked)}));
    return label;
  }));
  document.querySelector(".setting").after(field);
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

// Commands: each can be copied.
for (const code of all(document, ".commands code")) {
  const said = make("span", "", {role: "status"}), tools = make("p", "", {className: "tools"});
  tools.append(button("Copy", () => copy(code.textContent, said)), said);
  code.after(tools);
}

// Charts: the value nearest to the pointer, a chart as large as the window, and its x axis zoomed.
const hint = document.body.appendChild(make("div", "", {className: "hint", hidden: true}));
const near = (lo, v, hi) => Math.max(lo - v, 0, v - hi);
const draw = (name, attributes, text = "") => {
  const e = document.createElementNS(document.querySelector("svg").namespaceURI, name);
  Object.entries(attributes).forEach(([k, v]) => e.setAttribute(k, v));
  e.textContent = text;
  return e;
};
all(document, "svg.chart").forEach((svg, number) => {
  const figure = svg.closest("figure"), tools = figure.appendChild(make("p", "", {className: "tools"}));
  const large = on => size.textContent = figure.classList.toggle("large", on) ? "Close" : "Enlarge";
  const size = button("Enlarge", () => large());
  tools.append(size);

  // Zoom: the part from..to of the axis left..right, all in units of the drawing.
  const ticks = all(svg, ".ticks").map(g => ({g, whole: [...g.childNodes], box: g.dataset.box.split(" ").map(Number)}));
  const [left, right] = ticks.length ? ticks[0].box : [-Infinity, Infinity];
  let [from, to] = [left, right], picked;
  const labels = all(svg, ".ticks").flatMap(g => (g.dataset.ticks ?? "").split("|")).map(l => [parseFloat(l), l.slice(l.indexOf(" ") + 1)]);
  const part = (a, b) => {
    const wide = Math.min(Math.max(b - a, (right - left) / 64), right - left), k = (right - left) / wide;
    from = Math.min(Math.max(a, left), right - wide);
    to = from + wide;
    svg.classList.toggle("zoomed", k > 1);
    svg.style.setProperty("--narrow", 1 / k);
    whole.hidden = k === 1;
    for (const plot of all(svg, ".plot")) {
      k > 1 ? plot.setAttribute("clip-path", `url(#clip-${number})`) : plot.removeAttribute("clip-path");
      plot.firstElementChild.setAttribute("transform", `matrix(${k} 0 0 1 ${left - from * k} 0)`);
    }
    const shown = []; // ticks with room for their labels
    for (const [at, label] of labels) {
      const x = left + (at - from) * k;
      if (x >= left - .1 && x <= right + .1 && shown.every(t => Math.abs(t.x - x) > 4 * (t.label.length + label.length) + 8)) shown.push({x, label});
    }
    for (const {g, whole, box: [, , top, foot]} of ticks) {
      g.replaceChildren(...k === 1 ? whole : shown.flatMap(({x, label}) => [draw("line", {class: "grid", x1: x, x2: x, y1: top, y2: foot}),
        ...g.dataset.ticks ? [draw("text", {class: "x", x, y: foot, dy: "1.5em", "text-anchor": "middle"}, label)] : []]));
    }
  };
  const closer = by => part((from + to - (to - from) / by) / 2, (from + to + (to - from) / by) / 2);
  const whole = button("Whole axis", () => part(left, right));
  const keys = {"+": () => closer(2), "=": () => closer(2), "-": () => closer(.5),
    ArrowLeft: () => part(from - (to - from) / 4, to - (to - from) / 4), ArrowRight: () => part(from + (to - from) / 4, to + (to - from) / 4)};
  const unit = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
  if (ticks.length) {
    whole.hidden = true;
    tools.append(make("button", "Zoom in", {type: "button", onclick: keys["+"], title: "or drag over the chart, or + \u2212 \u2190 \u2192 with the keyboard, Escape for the whole axis"}), whole);
    svg.classList.add("zooms");
    svg.tabIndex = 0;
    const clip = svg.appendChild(draw("clipPath", {id: "clip-" + number}));
    clip.append(draw("rect", {x: left, y: 0, width: right - left, height: svg.viewBox.baseVal.height}));
    svg.addEventListener("pointerdown", e => {
      if (e.button === 0) picked = Object.assign(svg.appendChild(draw("rect", {class: "picked", y: ticks[0].box[2], width: 0, height: ticks.at(-1).box[3] - ticks[0].box[2]})), {from: unit(e)});
    });
    document.addEventListener("pointerup", e => {
      if (!picked) return;
      const [a, b] = [picked.from, unit(e)].sort((a, b) => a - b).map(x => from + (Math.min(Math.max(x, left), right) - left) * (to - from) / (right - left));
      picked.remove();
      if (Math.abs(unit(e) - picked.from) > 6) part(a, b);
      picked = null;
    });
    document.addEventListener("pointercancel", () => { picked?.remove(); picked = null; });
  }
  figure.addEventListener("keydown", e => {
    if (e.key === "Escape") svg.matches(".zoomed") ? part(left, right) : large(false);
    else if (ticks.length && keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
      keys[e.key]();
      e.preventDefault();
    }
  });

  const marks = all(svg, "title").map(t => [t.parentElement, t.textContent]).filter(([mark]) => !mark.matches("g, .heat"));
  const curves = all(svg, "[data-v]").map(path => ({path, name: path.closest("g[class]:not(.plot)").querySelector(":scope > title")?.textContent,
    at: path.getAttribute("d").match(/[-.\d]+/g).map(Number), values: path.dataset.v.split("|")}));
  svg.addEventListener("pointerleave", () => hint.hidden = true);
  svg.addEventListener("pointermove", e => {
    if (picked) {
      const x = Math.max(Math.min(unit(e), picked.from), left);
      picked.setAttribute("x", x);
      picked.setAttribute("width", Math.max(Math.min(Math.max(unit(e), picked.from), right) - x, 0));
    }
    let best = 24, text = e.target.matches(".heat") ? e.target.textContent : ""; // pixels
    const m = svg.getScreenCTM(), inside = (lo, hi) => hi >= m.a * left + m.e - 1 && lo <= m.a * right + m.e + 1;
    const take = (far, said) => { if (far < best) [best, text] = [far, said]; };
    for (const [mark, title] of marks) {
      const b = mark.getBoundingClientRect();
      if (!ticks.length || inside(b.left, b.right)) take(Math.hypot(near(b.left, e.clientX, b.right), near(b.top, e.clientY, b.bottom)), title);
    }
    for (const {path, name, at, values} of curves) {
      if (!path.getClientRects().length) continue; // hidden
      const m = path.getScreenCTM();
      values.forEach((value, i) => {
        const x = m.a * at[2 * i] + m.e, y = m.d * at[2 * i + 1] + m.f;
        if (inside(x, x)) take(Math.hypot(x - e.clientX, y - e.clientY), name ? name + ": " + value : value);
      });
    }
    hint.hidden = !text;
    hint.textContent = text;
    hint.style.left = Math.min(e.clientX + 14, innerWidth - hint.offsetWidth - 4) + "px";
    hint.style.top = Math.min(e.clientY + 14, innerHeight - hint.offsetHeight - 4) + "px";
  });
});
})();
