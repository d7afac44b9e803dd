/* <running-statistics>: "What does evaluation mode use, and how far is it from what training used?"
 *
 * Is: one channel of batch norm that is shown one batch after another. The reader sets the momentum and steps, or plays,
 * through the batches: the statistics of each, the running statistics, and the gap between the outputs of the two modes.
 * Is not: a network. Nothing is learned; batches are independent draws and stay when the momentum changes.
 *
 * As in torch, momentum is the weight of the new value, running_mean starts at 0 and running_var at 1, running_var takes in
 * the unbiased variance, and the batch itself is normalized with the biased one.
 *
 * Attributes, all optional (more in docs/book-components.md):
 *   momentum="0.1"        at first; or None: the plain average of all batches
 *   batch-size="8"        values in a batch
 *   mean="3" std="2"      of the distribution that is drawn from
 *   drift="0"             what its mean moves at each step, as if the weights below were still changing
 *   steps="40"            number of batches
 *   at="0"                steps taken at first
 *   seed="1"              another number gives other batches
 * The build writes inside the tag what is shown without JavaScript (book/_ext/course_site/components.py).
 */
(() => {
const EPS = 1e-5, PACE_MS = 600;
const WIDE = 240, HIGH = 150, LEFT = 34, RIGHT = 6, TOP = 8, BOTTOM = 20; // of a chart

function fixed(v, digits = 3) {
  const text = v.toFixed(digits);
  return text.replace("-", Number(text) ? "−" : ""); // never "-0.00"
}
const average = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

/* All batches: sums of twelve uniform numbers of a linear congruential generator are nearly normal, and the same everywhere. */
function batchesOf({ steps, batchSize, mean, std, drift, seed }) {
  let state = seed;
  const uniform = () => (state = (state * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32;
  const draw = (centre) => {
    let sum = -6;
    for (let k = 0; k < 12; k++) sum += uniform();
    return Math.round((centre + std * sum) * 10) / 10;
  };
  return Array.from({ length: steps }, (_, t) => Array.from({ length: batchSize }, () => draw(mean + drift * t)));
}

/* What batch norm has seen and keeps after 0, 1, 2, ... batches; momentum null stands for None. */
function historyOf(batches, momentum) {
  const history = [{ t: 0, runningMean: 0, runningVar: 1, start: 1 }];
  batches.forEach((batch, k) => {
    const { runningMean, runningVar, start } = history[k], m = batch.length, alpha = momentum ?? 1 / (k + 1);
    const mean = average(batch), biased = average(batch.map((x) => (x - mean) ** 2)), unbiased = (biased * m) / (m - 1);
    const now = { t: k + 1, batch, alpha, mean, unbiased, start: start * (1 - alpha),
      runningMean: (1 - alpha) * runningMean + alpha * mean, runningVar: (1 - alpha) * runningVar + alpha * unbiased };
    now.gap = average(batch.map((x) => Math.abs((x - mean) / Math.sqrt(biased + EPS)
      - (x - now.runningMean) / Math.sqrt(now.runningVar + EPS))));
    history.push(now);
  });
  return history;
}

const STYLE = `
:host { --paper: var(--pst-color-background, Canvas); --mark: var(--pst-color-link, LinkText);
  --line: var(--pst-color-border, #8888); display: block; margin: 1.5rem 0; padding: .8rem; border: 1px solid var(--line);
  border-radius: .6rem; background: var(--paper); color: var(--pst-color-text-base, CanvasText);
  font-variant-numeric: tabular-nums; }
p { margin: 0 0 .4rem; }
figcaption { font-weight: 600; }
small { color: var(--pst-color-text-muted, inherit); }
.flow { display: flex; flex-wrap: wrap; gap: .4rem .7rem; margin-bottom: .7rem; align-items: center; }
.flow > figure { flex: 1 1 14rem; max-width: 26rem; margin: 0; }
input { accent-color: var(--mark); vertical-align: middle; }
button { font: inherit; min-width: 5em; }
svg { display: block; width: 100%; overflow: visible; fill: none; stroke: currentcolor; font-size: 11px; }
svg.key { display: inline-block; width: 24px; height: 10px; vertical-align: middle; }
text { fill: currentcolor; stroke: none; }
.grid { stroke: var(--line); }
.batch { stroke: #d97706; fill: var(--paper); stroke-width: 1.5; }
.running { stroke: var(--mark); stroke-width: 2.5; }
.true { stroke-dasharray: 5 4; }
.scroll { max-height: 13rem; overflow: auto; border-top: 1px solid var(--line); }
:focus-visible { outline: 3px solid var(--mark); }
code { overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: min(.85rem, 3.3vw); width: 100%; }
caption { text-align: left; }
th, td { padding: .1rem 0 .1rem .3rem; text-align: right; font-weight: 400; vertical-align: bottom; }
tbody tr:first-child > * { font-weight: 700; }`;

customElements.define("running-statistics", class extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const number = (name, otherwise) => Number(this.getAttribute(name) ?? otherwise);
    const momentum = this.getAttribute("momentum") ?? "0.1";
    this.setting = { steps: number("steps", 40), batchSize: number("batch-size", 8), mean: number("mean", 3), std: number("std", 2),
      drift: number("drift", 0), seed: number("seed", 1) };
    this.batches = batchesOf(this.setting);
    this.plain = momentum === "None";
    this.momentum = this.plain ? 0.1 : Number(momentum);
    this.t = number("at", 0);
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.attachShadow({ mode: "open" }).innerHTML = `<style>${STYLE}</style>
      <div role="group" aria-label="Running statistics of batch norm">
      <div class="flow"><label>Momentum <input id="momentum" type="range" min="0" max="1" step="0.01"> <b id="alpha"></b></label>
        <label><input id="plain" type="checkbox"> None (plain average)</label></div>
      <div class="flow"><button id="step">Step</button><button id="play"></button><button id="reset">Reset</button>
        <code id="call"></code></div>
      <div id="said" role="status"></div>
      <p class="flow"><span><svg class="key" aria-hidden="true"><circle class="batch" cx="12" cy="5" r="3"/></svg> this batch</span>
        <span><svg class="key" aria-hidden="true"><path class="running" d="M0 5h24"/></svg> running</span>
        <span><svg class="key" aria-hidden="true"><path class="true" d="M0 5h24"/></svg> true value</span></p>
      <div class="flow" id="charts"></div>
      <div class="scroll" role="region" aria-label="Table of all steps" tabindex="0"><table></table></div></div>`;
    this.$ = (selector) => this.shadowRoot.querySelector(selector);
    this.$("#momentum").oninput = (event) => this.update({ momentum: event.target.valueAsNumber, plain: false });
    this.$("#plain").onchange = (event) => this.update({ plain: event.target.checked });
    this.$("#step").onclick = () => { this.pause(); this.go(this.t + 1); };
    this.$("#reset").onclick = () => { this.pause(); this.go(0); };
    this.$("#play").onclick = () => this.play();
    this.calm.onchange = () => { this.pause(); this.update(); };
    this.update();
  }

  disconnectedCallback() {
    this.pause();
  }

  go(t) {
    this.update({ t: Math.min(t, this.setting.steps) });
  }

  /* Step by itself until the end; who wants no motion gets the end at once. */
  play() {
    if (this.timer) return this.pause();
    if (this.calm.matches) return this.go(Infinity);
    if (this.t === this.setting.steps) this.t = 0;
    this.timer = setInterval(() => { this.go(this.t + 1); if (this.t === this.setting.steps) this.pause(); }, PACE_MS);
    this.go(this.t + 1);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    if (this.isConnected) this.update();
  }

  /* Take in the news and show the state. */
  update(news = {}) {
    Object.assign(this, news);
    const { t, momentum, plain, setting } = this, history = historyOf(this.batches, plain ? null : momentum);
    const seen = history.slice(0, t + 1), now = seen[t], before = seen[t - 1];
    this.$("#momentum").value = momentum;
    this.$("#plain").checked = plain;
    this.$("#alpha").textContent = plain ? "1 / step" : momentum.toFixed(2);
    this.$("#call").textContent = `nn.BatchNorm1d(1, momentum=${plain ? "None" : momentum})`;
    this.$("#play").textContent = this.calm.matches ? "To the end" : this.timer ? "Pause" : "Play";
    this.$("#said").ariaLive = this.timer ? "off" : "polite"; // a player that talks all the time helps nobody
    this.$("#said").innerHTML = `<p><b>Step ${t} of ${setting.steps}.</b>` + (t ? ` Batch:
      <span id="batch">${now.batch.map((x) => fixed(x, 1)).join(", ")}</span></p>
      <p>running_mean = ${this.sum(now.alpha, before.runningMean, now.mean, now.runningMean)}<br>
      running_var = ${this.sum(now.alpha, before.runningVar, now.unbiased, now.runningVar)}</p>
      <p>On this batch, training and evaluation mode differ by <b>${fixed(now.gap)}</b> on average.
      The start still weighs ${fixed(100 * now.start, 1)}&nbsp;%.</p>` : " No batch yet: running_mean = 0, running_var = 1.</p>");
    const truth = seen.map((s) => setting.mean + setting.drift * Math.max(0, s.t - 1));
    this.$("#charts").innerHTML = this.chart("Mean", history, seen, "mean", "runningMean", truth)
      + this.chart("Variance (unbiased)", history, seen, "unbiased", "runningVar", seen.map(() => setting.std ** 2))
      + this.chart("Gap between the modes", history, seen, null, "gap", null);
    const names = ["step", "batch mean", "running mean", "batch variance", "running variance", "gap"];
    this.$("table").innerHTML = `<caption>Newest step first; variances unbiased</caption><thead><tr>${
      names.map((name) => `<th scope="col">${name}</th>`).join("")}</tr></thead><tbody>${seen.toReversed().map((s) =>
      `<tr><th scope="row">${s.t}</th>${[s.mean, s.runningMean, s.unbiased, s.runningVar, s.gap].map((v) =>
        `<td>${v === undefined ? "" : fixed(v)}</td>`).join("")}</tr>`).join("")}</tbody>`;
  }

  /* One update, written out. */
  sum(alpha, old, news, result) {
    return `${fixed(1 - alpha, 2)} · ${fixed(old)} + ${fixed(alpha, 2)} · ${fixed(news)} = <b>${fixed(result)}</b>`;
  }

  /* A line chart of what was seen, on axes that hold the whole history. */
  chart(title, history, seen, dots, line, truth) {
    const all = history.flatMap((s) => [s[dots], s[line]]).filter((v) => v !== undefined).concat(truth ?? []);
    const low = Math.min(0, ...all), high = Math.max(...all) * 1.05;
    const x = (t) => (LEFT + (t / (history.length - 1)) * (WIDE - LEFT - RIGHT)).toFixed(1);
    const y = (v) => (HIGH - BOTTOM - ((v - low) / (high - low)) * (HIGH - TOP - BOTTOM)).toFixed(1);
    const path = (points) => points.map(([t, v], k) => `${k ? "L" : "M"}${x(t)} ${y(v)}`).join("");
    const shown = seen.filter((s) => s[line] !== undefined), last = seen.at(-1);
    const said = (v) => (v === undefined ? "none yet" : fixed(v)), unit = 10 ** Math.floor(Math.log10(high - low));
    const step = [0.2, 0.5, 1, 2].map((k) => k * unit).find((size) => (high - low) / size < 6);
    const ticks = Array.from({ length: 13 }, (_, k) => (Math.ceil(low / step) + k) * step).filter((v) => v <= high);
    const words = (dots ? `batch ${said(last[dots])}, running ` : "") + said(last[line])
      + (truth ? `, true ${fixed(truth.at(-1), 2)}` : "");
    return `<figure><figcaption>${title}</figcaption>
      <svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label="${title} after ${last.t} steps: ${words}">
      ${ticks.map((v) => `<path class="grid" d="M${LEFT} ${y(v)}H${WIDE - RIGHT}"/><text x="${LEFT - 4}" y="${y(v)}" dy=".35em"
        text-anchor="end">${fixed(v, step < 1 ? 1 : 0)}</text>`).join("")}
      <text x="${LEFT}" y="${HIGH - 4}">0</text>
      <text x="${WIDE - RIGHT}" y="${HIGH - 4}" text-anchor="end">step ${history.length - 1}</text>
      ${truth ? `<path class="true" d="${path(seen.map((s, k) => [s.t, truth[k]]))}"/>` : ""}
      <path class="running" d="${path(shown.map((s) => [s.t, s[line]]))}"/>
      ${dots ? seen.slice(1).map((s) => `<circle class="batch" r="2.5" cx="${x(s.t)}" cy="${y(s[dots])}"/>`).join("") : ""}
      </svg></figure>`;
  }
});
})();
