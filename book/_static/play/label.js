/** The section *You against the criteria*: label units by hand, and see what the criteria make of the same budget. */

import { lines, said } from "./chart.js";
import { Generator } from "./random.js";
import { Pool, plan } from "./planner.js";
import { dot, factor, matern32, solve } from "./ridge.js";

export const UNITS = 80,
  BUDGET = 20;
const LENGTH = 0.35,
  PENALTY = 1e-3; // of the estimator: a length scale on the unit square, and the ridge
const WAVES = 12,
  RANDOMS = 20; // cosines of a surface; random plans whose errors are averaged
const METHODS = {
  you: { name: "you", colour: "#008060" },
  macal: { name: "MACAL", colour: "#0072B2" },
  qhte: { name: "QHTE", colour: "#E69F00", dash: "9 3 2 3" },
  random: { name: "Random, mean", colour: "#7f7f7f", dash: "7 4" },
};
const ARMS = ["control", "treated"];

/** Numbers from a seed: uniform on [0, 1), and normal by Box and Muller. */
function numbers(seed) {
  const generator = new Generator(seed),
    uniform = () => generator.uniform();
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

/** A smooth surface of variance 1: a sum of cosines. */
function surface({ uniform, normal }) {
  const waves = Array.from({ length: WAVES }, () => [normal() / LENGTH, normal() / LENGTH, 2 * Math.PI * uniform()]);
  return ([a, b]) =>
    Math.sqrt(2 / WAVES) * waves.reduce((sum, [u, v, shift]) => sum + Math.cos(u * a + v * b + shift), 0);
}

/**
 * People on the unit square, the treated more to the right, and what each would answer in either arm.
 *
 * @param {number} seed
 * @param {number} rho correlation of the two surfaces
 * @returns {{x: number[][], t: number[], mu: number[][]}} places, arms, and the outcomes [mu0, mu1] of each
 */
export function world(seed, rho) {
  const draw = numbers(seed),
    f = surface(draw),
    g = surface(draw);
  const x = Array.from({ length: UNITS }, () => [draw.uniform(), draw.uniform()]);
  const t = x.map(([a]) => Number(draw.uniform() < 0.15 + 0.6 * a));
  return { x, t, mu: x.map((place) => [f(place), rho * f(place) + Math.sqrt(1 - rho * rho) * g(place)]) };
}

const apart = ([a, b], [c, d]) => matern32(Math.hypot(a - c, b - d) / LENGTH);

/** What ridge regression on the labels of one arm makes of everybody; 0 without a label. */
function learnt({ x, t, mu }, labelled, arm) {
  const own = labelled.filter((i) => t[i] === arm);
  const root = factor(own.map((i) => own.map((j) => apart(x[i], x[j]) + (i === j ? PENALTY : 0))));
  const weights = solve(
    root,
    own.map((i) => mu[i][arm]),
  );
  return x.map((place) =>
    dot(
      weights,
      own.map((i) => apart(place, x[i])),
    ),
  );
}

/** Root mean squared error of everybody's effect. */
export function pehe(about, labelled) {
  const [zero, one] = [0, 1].map((arm) => learnt(about, labelled, arm));
  return Math.sqrt(
    about.mu.reduce((sum, [mu0, mu1], i) => sum + (one[i] - zero[i] - (mu1 - mu0)) ** 2, 0) / about.x.length,
  );
}

/** The plan of a criterion, in pick order. */
export function picks({ x, t }, criterion) {
  const work = plan(new Pool(Float64Array.from(x.flat()), Uint8Array.from(t)), criterion, [BUDGET]);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value.flat();
  }
}

const curve = (about, order) => Array.from({ length: order.length + 1 }, (_, k) => pehe(about, order.slice(0, k)));

/** Plans and errors of the criteria. */
function rivals(about) {
  const orders = { macal: picks(about, { name: "macal", alpha: 1 }), qhte: picks(about, { name: "qhte" }) };
  const random = Array.from({ length: RANDOMS }, (_, seed) => curve(about, picks(about, { name: "random", seed })));
  const errors = Object.fromEntries(Object.entries(orders).map(([name, order]) => [name, curve(about, order)]));
  return {
    orders,
    errors: { ...errors, random: random[0].map((_, k) => random.reduce((sum, one) => sum + one[k], 0) / RANDOMS) },
  };
}

const root = document.getElementById("label");
const at = (name) => root.querySelector(`[data-at="${name}"]`);
let about, others, mine, focus;

function begin() {
  const form = root.querySelector("form").elements;
  about = world(+form.seed.value, +form.rho.value);
  others = rivals(about);
  mine = [];
  focus = 0;
  show();
}

const place = ([a, b]) => [12 + 396 * a, 12 + 276 * (1 - b)];

function unit(i) {
  const [x, y] = place(about.x[i]),
    done = mine.includes(i),
    arm = ARMS[about.t[i]];
  const shape = about.t[i] ? `<path d="M${x} ${y - 8}l7.5 13h-15z"/>` : `<circle cx="${x}" cy="${y}" r="6.5"/>`;
  const order = others.orders[root.querySelector("[name=shown]").value]?.slice(0, BUDGET).indexOf(i) ?? -1;
  const ring = order < 0 ? "" : `<circle class="ring" cx="${x}" cy="${y}" r="12"/>`;
  const words = `${arm}, unit ${i + 1}${done ? `, label ${mine.indexOf(i) + 1}` : ""}${order < 0 ? "" : `, its pick ${order + 1}`}`;
  return `<g class="unit ${arm}${done ? " done" : ""}" data-unit="${i}" role="button" aria-pressed="${done}" tabindex="${i === focus ? 0 : -1}" aria-label="${words}">${ring}${shape}</g>`;
}

function show() {
  at("pool").innerHTML = about.x.map((_, i) => unit(i)).join("");
  const errors = { you: curve(about, mine), ...others.errors },
    k = mine.length;
  const series = Object.entries(METHODS).map(([name, look]) => ({
    ...look,
    points: errors[name].slice(0, k + 1).map((v, n) => [n, v]),
  }));
  at("chart").innerHTML = lines("Error of the effects after each label, yours and the criteria's.", series, {
    xLabel: "labels",
    yLabel: "PEHE",
    zero: 0,
    xRange: [0, BUDGET],
  });
  const before = ["macal", "qhte", "random"]
    .filter((name) => errors[name][k] < errors.you[k])
    .map((name) => METHODS[name].name);
  at("answer").textContent =
    `${k} of ${BUDGET} labels, ${mine.filter((i) => about.t[i]).length} treated. ` +
    (k
      ? `Your error is ${said(errors.you[k])}; ${before.length ? `ahead of you: ${before.join(", ")}` : "no criterion is ahead of you"}.`
      : "Click the units that you would label.");
}

function take(i) {
  if (mine.includes(i)) mine = mine.filter((j) => j !== i);
  else if (mine.length < BUDGET) mine.push(i);
  move(i);
}

function move(i) {
  focus = i;
  show();
  at("pool").querySelector(`[data-unit="${i}"]`).focus();
}

/** The nearest unit in the direction of an arrow. */
function neighbour(i, [dx, dy]) {
  const from = place(about.x[i]);
  const steps = about.x
    .map((p, j) => [j, ...place(p).map((v, k) => v - from[k])])
    .filter(([, a, b]) => dx * a + dy * b > 0);
  const cost = ([, a, b]) => Math.abs(dx * a + dy * b) + 2 * Math.abs(dx * b - dy * a);
  return steps.length ? steps.reduce((best, step) => (cost(step) < cost(best) ? step : best))[0] : i;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

if (root) {
  const pool = at("pool"),
    chosen = (event) => event.target.closest("[data-unit]")?.dataset.unit;
  pool.addEventListener("click", (event) => chosen(event) && take(+chosen(event)));
  pool.addEventListener("keydown", (event) => {
    if (event.key in ARROWS) move(neighbour(focus, ARROWS[event.key]));
    else if (["Enter", " "].includes(event.key)) take(focus);
    else return;
    event.preventDefault();
  });
  root.querySelector("form").addEventListener("change", ({ target }) => (target.name === "shown" ? show() : begin()));
  at("again").addEventListener("click", () => {
    root.querySelector("[name=seed]").value = 1 + +root.querySelector("[name=seed]").value;
    begin();
  });
  at("undo").addEventListener("click", () => {
    mine.pop();
    show();
  });
  begin();
}
