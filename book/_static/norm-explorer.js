/* <norm-explorer>: "Which numbers share a mean?"
 *
 * Is: a picture of a small tensor, (N, C, L) or (N, C, H, W), and of its normalized output. The reader chooses a layer, looks at
 * elements and their sets, and changes one number to see which outputs move.
 * Is not: a trained layer. No weight and bias, no running statistics, no evaluation mode.
 *
 * Attributes, all optional (more in docs/book-components.md):
 *   shape="2,4,3"      sizes N,C,L or N,C,H,W
 *   layer="batch"      batch, layer, token, instance, group or rms: the one chosen at first
 *   groups="2"         G at first, a divisor of C
 *   chosen="0,1,2"     the element chosen at first
 *   values="1,-2,0.5"  the tensor in row-major order
 * The build writes inside the tag what is shown without JavaScript.
 */
(() => {
const EPS = 1e-5, VISIBLE = 1e-4; // an output that differs by less has not moved
const WIDE = 33, HIGH = 25; // a cell, in tenths of an em
const HIDE = 'aria-hidden="true"';
const HUES = ["#3b82f6", "#d97706", "#16a34a", "#a855f7", "#ec4899", "#0d9488"];
const LINES = ["M-2 2l4-4M0 8l8-8M6 10l4-4", "M1 2h2M5 6h2", "M-2 6l4 4M0 0l8 8M6-2l4 4", "M4 0v8",
  "M0 0l8 8M8 0l-8 8", "M0 4h8", "M0 6l4-4l4 4"]; // patterns, in tiles of 8 by 8

// of each layer its name and what the elements of a set have in common
const LAYERS = { batch: ["batch norm", "c"], layer: ["layer norm", "n"], token: ["token layer norm", "np"],
  instance: ["instance norm", "nc"], group: ["group norm", "ng"], rms: ["RMS norm", "np"] };
const WORDS = { n: "sample", c: "channel", g: "group", p: "position" };

function fixed(v, digits) {
  const text = v.toFixed(digits);
  return text.replace("-", Number(text) ? "−" : ""); // never "-0.00"
}
const short = (v) => fixed(v, 2).replace(/\.?0+$/, "");

/* The elements in row-major order, with indices and places in the picture. */
function elementsOf([N, C, ...space]) {
  const image = space.length === 2, [H, W] = image ? space : [1, ...space];
  return Array.from({ length: N * C * H * W }, (_, i) => {
    const w = i % W, row = Math.floor(i / W) % (C * H), h = row % H, c = Math.floor(row / H), n = Math.floor(i / (W * H * C));
    const p = image ? `${h}, ${w}` : w, gap = image && c && !h ? 5 : 0, top = row * HIGH + (image && c * 5);
    return { i, n, c, h, p, w, row, gap, top, name: `x[${n}, ${c}, ${p}]` };
  });
}

/* Numbers that differ between channels and samples. */
const valueOf = ({ i, n, c }) => ((7 * i * i + 5 * i + 3) % 11 - 5) / 2 * (1 + n % 2) + [0, 4, -3, 2][c % 4] + n;

/* The sets of a layer, and x hat; power is the variance, for RMS norm the mean square. */
function normalize(layer, elements, x, groupSize) {
  const sets = {}, y = [];
  for (const e of elements) {
    e.g = Math.floor(e.c / groupSize);
    const label = [...LAYERS[layer][1]].map((key) => `${WORDS[key]} ${e[key]}`).join(", ");
    const k = Object.keys(sets).length;
    (sets[label] ??= { label, k, hue: HUES[k % 6], members: [] }).members.push(e.i);
  }
  for (const s of Object.values(sets)) {
    const average = (f) => s.members.reduce((sum, i) => sum + f(x[i]), 0) / s.members.length;
    s.mean = average((v) => v);
    const centre = layer === "rms" ? 0 : s.mean;
    s.power = average((v) => (v - centre) ** 2);
    for (const i of s.members) y[i] = (x[i] - centre) / Math.sqrt(s.power + EPS);
  }
  return [Object.values(sets), y];
}

/* The layer in torch, its statistic in torch, and the shape of that. */
function torchOf(layer, [N, C, ...space], G) {
  const group = layer === "group", d = space.length, sizes = [N, ...(group ? [G, C / G] : [C]), ...space];
  const axes = [...(group ? "ng-" : "nc"), ...space.map(() => "p")], kept = (axis) => LAYERS[layer][1].includes(axes[axis]);
  const name = { batch: `BatchNorm${d}d(${C}`, layer: `LayerNorm([${[C, ...space]}]`, token: `LayerNorm(${C}`,
    instance: `InstanceNorm${d}d(${C}`, group: `GroupNorm(${[G, C]}`, rms: `RMSNorm(${C},eps=1e-5` }[layer];
  const applied = !kept(2) ? "(x)" : d === 1 ? "(x.mT).mT" : "(x.movedim(1,-1)).movedim(-1,1)";
  const source = group ? `x.view(${sizes})` : layer === "rms" ? "x.square()" : "x";
  return `In torch: <code>nn.${name})${applied}</code><br>
    Statistics of shape (${sizes.map((size, axis) => (kept(axis) ? size : 1))}):<br>
    <code>${source}.mean([${Object.keys(sizes).filter((axis) => !kept(axis))}],keepdim=True)</code>`.replace(/,/g, ", ");
}

const STYLE = `
:host { --paper: var(--pst-color-background, Canvas); --mark: var(--pst-color-link, LinkText);
  --line: var(--pst-color-border, #8888); display: block; margin: 1.5rem 0; padding: .8rem; border: 1px solid var(--line);
  border-radius: .6rem; background: var(--paper); color: var(--pst-color-text-base, CanvasText); }
p { margin: 0 0 .3rem; }
small, i { color: var(--pst-color-text-muted); font-style: normal; }
.flow { display: flex; flex-wrap: wrap; gap: .5rem; margin-bottom: .7rem; }
.wide { gap: .6rem 2.2rem; }
.wide > * { flex: 1 1 16rem; }
.pill { padding: 0 .6rem 0 .4rem; border: 1px solid var(--line); border-radius: 1rem; }
.pill:has(:checked) { border-color: currentcolor; }
input { accent-color: var(--mark); vertical-align: middle; }
button { font: inherit; }
.block { position: relative; font-size: min(.95rem, 3.45vw); }
.sets { position: absolute; left: 1.7em; bottom: 0; width: calc(100% - 1.7em); overflow: visible; }
.row { display: flex; line-height: ${HIGH / 10}em; }
.row i { width: 2em; font-size: .85em; }
.cell { position: relative; width: ${WIDE / 10}em; text-align: center;
  text-shadow: 0 0 3px var(--paper), 0 0 4px var(--paper); }
[aria-selected=true] { box-shadow: inset 0 0 0 2px; }
.up, .down { background: color-mix(in srgb, var(--mark) 20%, transparent); text-shadow: none; }
.up::before, .down::after { position: absolute; inset: .1em 0; font-size: .65em; line-height: 1; color: var(--mark); }
.up::before { content: "▲"; }
.down::after { content: "▼"; top: auto; }
:focus-visible { outline: 3px solid var(--mark); }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption, th:first-child { text-align: left; }
th, td { padding: 0 .6rem 0 0; text-align: right; font-weight: 400; }
.on > * { font-weight: 700; }`;

customElements.define("norm-explorer", class extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const numbers = (name, otherwise) => this.getAttribute(name)?.split(/[, ]+/).map(Number) ?? otherwise;
    this.layer = this.getAttribute("layer") ?? "batch";
    this.shape = numbers("shape", [2, 4, 3]);
    this.elements = elementsOf(this.shape);
    this.x = this.start = numbers("values", this.elements.map(valueOf));
    this.divisors = this.elements.map((e) => e.i + 1).filter((d) => this.shape[1] % d === 0);
    [this.groups] = numbers("groups", [this.divisors[this.divisors.length >> 1]]);
    this.chosen = numbers("chosen", [0]).reduce((i, k, axis) => i * this.shape[axis] + k, 0);
    this.edit = null; // the last change: {i, from}
    this.attachShadow({ mode: "open" }).innerHTML = `<style>${STYLE}</style>${this.skeleton()}`;
    this.$ = (selector) => this.shadowRoot.querySelector(selector);
    const all = (selector) => [...this.shadowRoot.querySelectorAll(selector)];
    [this.cells, this.outs, this.drawings] = [all("#in .cell"), all("#out .cell"), all(".sets")];
    this.listen();
    this.update();
  }

  skeleton() {
    const radios = Object.keys(LAYERS).map((key) => `<label class="pill"><input type="radio" name="layer" value="${key}"
      ${key === this.layer ? "checked" : ""}> ${LAYERS[key][0]}</label>`).join("");
    const blocks = Array.from({ length: this.shape[0] }, (_, n) => {
      const mine = this.elements.filter((e) => e.n === n), cells = mine.map((e) => (e.w ? "" : `${e.row ? "</div>" : ""}
        <div class="row" role="row" style="margin-top:${e.gap / 10}em"><i ${HIDE}>${e.h ? "" : `c ${e.c}`}</i>`)
        + `<span class="cell" role="gridcell" data-i="${e.i}"></span>`);
      return `<div class="block" role="rowgroup"><i ${HIDE}>n ${n}</i><svg class="sets" ${HIDE}
        viewBox="0 0 ${this.shape.at(-1) * WIDE} ${mine.at(-1).top + HIGH}"></svg>${cells.join("")}</div></div>`;
    }).join("");
    return `<div id="box" role="group" aria-label="Which numbers share a mean?">
      <svg id="patterns" style="position:absolute;height:0" ${HIDE}></svg>
      <div id="layers" class="flow" role="radiogroup" aria-label="Layer">${radios}</div>
      <p id="groups"><label>Groups <input type="range" max="${this.divisors.length - 1}"></label> <b></b></p>
      <div class="flow wide">
      <div><p><b>Input</b> x, shape (${this.shape.join(", ")})</p>
        <div class="flow" id="in" role="grid" aria-label="Input x" aria-describedby="keys">${blocks}</div></div>
      <div ${HIDE}><p><b>Output</b> x̂</p><div class="flow" id="out">${blocks}</div></div></div>
      <p><label id="change"><span></span> <input type="range" min="-10" max="10" step="0.5"></label> <button>Reset</button></p>
      <div id="said" role="status"></div>
      <div class="flow wide"><p id="torch"></p><table></table></div>
      <small id="keys">Arrow keys move over the input, + and − change its number. ▲▼ mark outputs that moved.</small></div>`;
  }

  listen() {
    const box = this.$("#box"), slider = this.$("#change input"), at = (event) => event.target.closest(".cell")?.dataset.i;
    box.onpointerover = (event) => this.update({ looked: at(event) });
    box.onpointerleave = () => this.update();
    box.onclick = (event) => this.cells[at(event)]?.focus();
    box.addEventListener("focusin", (event) => at(event) && this.update({ chosen: Number(at(event)) }));
    this.$("#in").onkeydown = (event) => this.press(event);
    this.$("#layers").onchange = (event) => this.update({ layer: event.target.value });
    this.$("#groups").oninput = (event) => this.update({ groups: this.divisors[event.target.value] });
    slider.oninput = () => this.change(slider.valueAsNumber);
    this.$("button").onclick = () => this.update({ x: this.start, edit: null });
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const W = this.shape.at(-1), size = this.x.length / this.shape[0], { i, w, row } = this.elements[this.chosen];
    const to = {
      ArrowRight: w + 1 < W ? i + 1 : i + size - w, ArrowLeft: w ? i - 1 : i - size + W - 1,
      ArrowDown: row + 1 < size / W ? i + W : i, ArrowUp: row ? i - W : i,
      Home: i - w, End: i - w + W - 1,
    }[event.key];
    if (to in this.cells) this.cells[to].focus();
    else if ("+-".includes(event.key)) this.change(this.x[i] + (event.key === "+" ? 0.5 : -0.5));
    else return;
    event.preventDefault();
  }

  /* Set the chosen number; a change of another one starts a new comparison. */
  change(value) {
    const i = this.chosen, edit = this.edit?.i === i ? this.edit : { i, from: this.x[i] };
    this.update({ edit, x: this.x.with(i, value) });
  }

  /* Take in the news and show the state; looked is the element under the pointer. */
  update({ looked, ...news } = {}) {
    Object.assign(this, news);
    const { layer, groups, x, shape, elements, edit, chosen } = this, old = edit ? x.with(edit.i, edit.from) : x;
    const [[sets, y], [, was]] = [x, old].map((values) => normalize(layer, elements, values, shape[1] / groups));
    const moved = elements.filter(({ i }) => Math.abs(y[i] - was[i]) >= VISIBLE), rms = layer === "rms";
    const e = elements[looked ?? chosen], mine = sets.find((s) => s.members.includes(e.i)), m = mine.members.length;
    this.cells.forEach((cell, i) => {
      const way = moved.includes(elements[i]) ? (y[i] > was[i] ? "up" : "down") : "";
      cell.textContent = short(x[i]);
      cell.tabIndex = i === chosen ? 0 : -1;
      cell.ariaSelected = i === e.i;
      cell.ariaLabel = `${elements[i].name} = ${short(x[i])}, output ${fixed(y[i], 2)} ${way}`;
      this.outs[i].textContent = fixed(y[i], 2);
      this.outs[i].className = `cell ${way}`;
    });
    this.drawings.forEach((svg, b) => { svg.innerHTML = this.drawing(b, sets, mine); });

    const put = (selector, html) => { const part = this.$(selector); if (part.shown !== html) part.innerHTML = part.shown = html; };
    put("#patterns", sets.map(({ k, hue }) => `<pattern id="p${k}" width="8" height="8" patternUnits="userSpaceOnUse">
      <path d="M0 0h8v8H0z" fill="${hue}" opacity=".2"/><path d="${LINES[k % 7]}" fill="none" stroke="${hue}"/></pattern>`)
      .join(""));
    const names = rms ? ["mean (unused)", "mean square"] : ["mean μ", "variance v"];
    const slider = this.$("#groups input"), like = { 1: ", as layer norm", [shape[1]]: ", as instance norm" }[groups] ?? "";
    this.$("#groups").hidden = layer !== "group";
    slider.value = this.divisors.indexOf(groups);
    put("#groups b", slider.ariaValueText = `G = ${groups}${like}`);
    put("#change span", `Change ${elements[chosen].name} = ${short(x[chosen])}`);
    this.$("#change input").value = x[chosen];
    put("#said", `<p>${e.name} = ${short(x[e.i])} is one of the m = ${m} numbers of <b>${mine.label}</b>:
      ${names[0]} = ${fixed(mine.mean, 3)}, ${names[1]} = ${fixed(mine.power, 3)}, output x̂ = ${fixed(y[e.i], 3)}.</p>
      <p>${this.effect(moved)}</p>`);
    put("#torch", torchOf(layer, shape, groups));
    put("table", `<caption>${sets.length} sets of m = ${m}</caption>
      <tr>${["set", ...names].map((name) => `<th scope="col">${name}</th>`).join("")}</tr>
      ${sets.map((s) => `<tr class="${s === mine ? "on" : ""}"><th scope="row"><svg width="20" height="12" ${HIDE}>
      <rect width="20" height="12" fill="url(#p${s.k})"/></svg> ${s.label}</th>
      <td>${fixed(s.mean, 3)}</td><td>${fixed(s.power, 3)}</td></tr>`).join("")}`);
  }

  /* What the last change did, in words. */
  effect(moved) {
    const { edit, elements, x } = this;
    if (!edit) return "";
    const { n, name } = elements[edit.i], away = moved.filter((e) => e.n !== n).length;
    return `${name} went from ${short(edit.from)} to ${short(x[edit.i])}: ${moved.length} of ${x.length} outputs moved,
      <b>${away ? `${away} of them in other samples` : "none in another sample"}</b>.`;
  }

  /* The sets in picture b: first come the samples of the input, then those of the output, which show only rims. */
  drawing(b, sets, mine) {
    const N = this.shape[0], there = this.elements.filter((e) => e.n === b % N);
    return [...sets, mine].map((s, again) => {
      const on = again === sets.length, inside = there.filter((e) => s.members.includes(e.i));
      const path = `<path d="${inside.map((e) => `M${e.w * WIDE} ${e.top}h${WIDE}v${HIGH}h-${WIDE}z`).join("")}"`;
      // painted over, the stroke keeps its outer half: the rim of the set
      return `<g opacity="${on ? 1 : 0.5}">${path} stroke="${on ? "currentColor" : s.hue}" stroke-width="${on ? 5 : 1}"/>
        ${path} fill="var(--paper)"/>${b < N ? `${path} fill="url(#p${s.k})"/>` : ""}</g>`;
    }).join("");
  }
});
})();
