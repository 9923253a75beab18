/** The page *The results, to explore*: one comparison of criteria at a time, its errors against labels, and a table. */

import { escaped, lines, said } from "./chart.js";

const DASHES = { "-": "none", "--": "7 4", "-.": "9 3 2 3", ":": "2 4" };
const FIRST = ["random", "random-balanced", "qhte", "macal", "macal-squared"];
const MOST_BANDS = 3; // more could not be told apart
const COLUMNS = ["labelled", "n", "pehe", "pehe_half", "log_ratio", "log_ratio_half"];
const root = document.getElementById("explorer");
const at = (name) => root.querySelector(`[data-at="${name}"]`);
const form = root.querySelector("form").elements;
const { default: recommended, styles, panels } = await (await fetch(new URL("./results.json", import.meta.url))).json();

const panel = () => panels.find((p) => p.dataset === form.dataset.value && p.estimator === form.estimator.value);
const ratio = () => form.measure.value === "ratio";
const chosen = () => [...root.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value);
const options = (values, now) =>
  values.map((v) => `<option${String(v) === String(now) ? " selected" : ""}>${escaped(v)}</option>`).join("");
const label = (method) => styles[method][2];
const rank = (method) => (FIRST.includes(method) ? FIRST.indexOf(method) : FIRST.length);
const inOrder = (methods) => methods.toSorted((a, b) => rank(a) - rank(b) || label(a).localeCompare(label(b)));

/** Rows of a method: what `errors` in Python gives, a number of labels each. */
function rows(method) {
  const columns = panel().methods[method];
  return columns[0].map((_, k) => Object.fromEntries(COLUMNS.map((name, c) => [name, columns[c][k] ?? NaN])));
}

/** Middle and ends of what is shown: PEHE, or per cent above Random's. */
function shown(row) {
  const [middle, half] = ratio() ? [row.log_ratio, row.log_ratio_half] : [row.pehe, row.pehe_half];
  return [middle, middle - half, middle + half].map((v) => (ratio() ? 100 * Math.expm1(v) : v));
}

const perCent = (v) =>
  Number.isFinite(v) ? `${v > 0 ? "+" : v < 0 ? "−" : ""}${Math.abs(v).toFixed(Math.abs(v) < 9.95 ? 1 : 0)} %` : "–";
const number = (v) => (ratio() ? perCent(v) : said(v));
const between = ([, low, high]) => (Number.isFinite(low) ? `${number(low).replace(" %", "")} to ${number(high)}` : "–");

const range = (counts) => [...new Set([Math.min(...counts), Math.max(...counts)])].join(" to ");

function line(method, band, counted) {
  const [colour, dash, name] = styles[method],
    own = rows(method);
  const points = own.map((row) => [row.labelled, ...shown(row).slice(0, band ? 3 : 1)]);
  return { name: counted ? `${name}, n ${range(own.map((r) => r.n))}` : name, colour, dash: DASHES[dash], points };
}

function draw() {
  const here = panel(),
    methods = chosen().filter((m) => !(ratio() && m === "random")),
    bands = methods.length <= MOST_BANDS;
  const all = Object.keys(here.methods).flatMap(rows),
    counts = all.map((r) => r.n);
  const n = range(counts),
    unequal = n.includes(" ");
  const what = ratio() ? "above Random's error, %" : "PEHE, mean";
  const about = `${here.dataset}, ${here.estimator}: ${what}, by number of labels; ${n} replications${bands ? "; bands: 95% intervals" : ""}.`;
  at("chart").innerHTML = lines(
    about,
    methods.map((m) => line(m, bands, unequal)),
    { xLabel: "labelled units", yLabel: what, ...(ratio() && { zero: 0 }) },
  );
  at("source").textContent = here.table;
  const sizes = [...new Set(all.map((r) => r.labelled))].sort((a, b) => a - b);
  form.size.innerHTML = options(
    sizes,
    sizes.includes(+form.size.value) ? form.size.value : sizes[Math.floor(sizes.length / 2)],
  );
  tabulate(Object.keys(here.methods));
  history.replaceState(
    null,
    "",
    "#" +
      new URLSearchParams({ data: here.dataset, by: here.estimator, as: form.measure.value, show: chosen().join(" ") }),
  );
}

function tabulate(methods) {
  const found = methods.map((m) => [m, rows(m).find((r) => r.labelled === +form.size.value)]).filter(([, row]) => row);
  // other replications are no rank: rows of equal n stand together
  found.sort(([, a], [, b]) => b.n - a.n || shown(a)[0] - shown(b)[0] || (Number.isNaN(shown(b)[0]) ? -1 : 1));
  at("heading").textContent = ratio() ? "above Random's error" : "PEHE, mean";
  at("rows").innerHTML = found
    .map(([m, row], k) => {
      const [middle, ...ends] = shown(row),
        apart = k && found[k - 1][1].n !== row.n ? ' class="apart"' : "";
      return `<tr${apart}><th scope="row">${escaped(label(m))}</th><td>${row.n}</td><td>${number(middle)}</td><td>${between([middle, ...ends])}</td></tr>`;
    })
    .join("");
}

function chooseEstimator(now) {
  form.estimator.innerHTML = options(
    panels.filter((p) => p.dataset === form.dataset.value).map((p) => p.estimator),
    now,
  );
}

/** Boxes of the methods that this comparison has; those asked for are ticked, or else the usual ones. */
function chooseMethods(asked) {
  const there = inOrder(Object.keys(panel().methods)),
    wanted = there.filter((m) => asked.includes(m));
  const usual = ["qhte", there.includes("macal") ? "macal" : "macal-squared", recommended];
  const ticked = wanted.some((m) => m !== "random") ? wanted : usual;
  at("methods").innerHTML = there
    .map(
      (m) =>
        `<label><input type="checkbox" value="${escaped(m)}"${ticked.includes(m) ? " checked" : ""}> ${escaped(label(m))}</label>`,
    )
    .join("");
}

function start() {
  const asked = new URLSearchParams(location.hash.slice(1)),
    names = [...new Set(panels.map((p) => p.dataset))],
    first = panels.find((p) => recommended in p.methods && p.estimator.startsWith("joint"));
  form.dataset.innerHTML = options(names, asked.get("data") ?? first.dataset);
  chooseEstimator(asked.get("by") ?? first.estimator);
  if (asked.get("as") === "absolute") form.measure.value = "absolute";
  chooseMethods((asked.get("show") ?? "").split(" "));
  draw();
}

form.dataset.addEventListener("change", () => chooseEstimator(form.estimator.value));
root.addEventListener("change", ({ target }) => {
  if ([form.dataset, form.estimator].includes(target)) chooseMethods(chosen());
  draw();
});
window.addEventListener("hashchange", start);
start();
root.querySelector("form").hidden = false;
