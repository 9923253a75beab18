/** The page *Plan my survey*: file, roles, settings, plan, what it does, download. Nothing is sent anywhere. */

import { escaped, lines, said, shares } from "./chart.js";
import { BadTable, decoded, read, write } from "./csv.js";
import { counterparts, coverage, distribution, sample, typicalDistance } from "./measures.js";
import { planMoney } from "./money.js";
import { Generator } from "./random.js";
import { CRITERIA, DESIGNED, Pool, inSlices, plan } from "./planner.js";
import { OPEN, ROLES, ask, encode, farTold, guess, planned } from "./table.js";

const ARMS = [
  { name: "control", colour: "#D55E00" },
  { name: "treated", colour: "#0072B2" },
];
const EVERYBODY = "#808080",
  ASKED = "#CC3377";
const root = document.getElementById("survey");
const form = root.querySelector("form");
const at = (name) => root.querySelector(`[data-at="${name}"]`);
const setting = (name) => form.elements[name];
let columns = null,
  plans = null,
  table = null,
  run = 0;

/** Show a problem where everybody notices it; true if there was none. */
function told(work) {
  at("problem").textContent = "";
  try {
    work();
    return true;
  } catch (error) {
    if (!(error instanceof BadTable)) throw error;
    at("problem").textContent = error.message;
    return false;
  }
}

const fresh = () => {
  run++; // stops the plan under way
  plans = null;
  for (const name of ["results", "progress"]) at(name).hidden = true;
};

/** Take a table: a text, or the bytes of a file. */
function load(given, name) {
  fresh();
  at("settings").hidden = true;
  if (!told(() => (columns = read(typeof given === "string" ? given : decoded(given))))) return;
  const guessed = guess(columns);
  at("file").textContent = `${name}: ${said(columns[0].values.length)} people, ${said(columns.length)} columns.`;
  at("columns").innerHTML = columns.map((c, k) => row(c, guessed[k], k)).join("");
  at("settings").hidden = false;
  settle();
}

function row(column, { role, what }, k) {
  const choices = role === OPEN ? [OPEN, ...ROLES] : ROLES,
    options = choices.map((r) => `<option${r === role ? " selected" : ""}>${r}</option>`);
  const some = [...new Set(column.values)].slice(0, 3).join(", ");
  const name = escaped(column.name);
  return (
    `<tr><th scope="row">${name}</th><td><select name="role-${k}" aria-label="role of ${name}">${options.join("")}</select></td>` +
    `<td>${escaped(what)}</td><td class="some">${escaped(some)}</td></tr>`
  );
}

const roles = () => columns.map((_, k) => setting(`role-${k}`).value);

/** Guess what the reader's choices have left open, and ask for what only the reader can tell. */
function settle() {
  const now = roles();
  if (!now.includes(OPEN)) return;
  const guessed = guess(
    columns,
    now.map((role) => (role === OPEN ? undefined : role)),
  ).map(({ role }) => role);
  guessed.forEach((role, k) => (setting(`role-${k}`).value = role));
  at("problem").textContent = guessed.includes(OPEN) ? ask(columns, guessed) : "";
}

/** A whole number in the bounds of its field. */
function count(name, most = Infinity) {
  const field = setting(name),
    value = Number(field.value),
    high = Math.min(most, Number(field.max || Infinity));
  if (!Number.isInteger(value) || !field.value.trim() || value < Number(field.min) || value > high)
    throw new BadTable(
      `${field.dataset.says} must be a whole number from ${field.min} to ${high}; it is "${field.value}".`,
    );
  return value;
}

/** A sum of money: a number above 0. */
function money(name) {
  const field = setting(name),
    value = Number(field.value);
  if (!(value > 0 && value <= 1e12))
    throw new BadTable(`${field.dataset.says} must be a number above 0, up to 1e12; it is "${field.value}".`);
  return value;
}

function settings() {
  const budget = setting("budget").value.trim() ? money("budget") : null;
  const encoded = encode(columns, roles(), budget === null ? 1 : money("each"));
  const known = new Set(encoded.labelled),
    free = [...encoded.t.keys()].filter((i) => !known.has(i));
  if (budget === null && roles().includes("cost"))
    throw new BadTable("A column of costs needs a budget; fill it in, or leave the column out.");
  const cheapest = free.reduce((least, i) => Math.min(least, encoded.cost[i]), Infinity);
  if (budget < cheapest && budget !== null)
    throw new BadTable(`A budget of ${budget} buys nobody: the cheapest person costs ${cheapest}.`);
  const labels = budget === null ? count("labels", free.length) : 0,
    size = count("size");
  const alpha = Number(setting("alpha").value);
  if (!setting("alpha").value.trim() || !(alpha >= 0 && alpha <= 1000))
    throw new BadTable(`MACAL's weight must be a number from 0 to 1000; it is "${setting("alpha").value}".`);
  const sizes = Array.from({ length: Math.ceil(labels / size) }, (_, k) => Math.min(size, labels - k * size));
  return { encoded, sizes, budget, size, alpha, seed: count("seed") };
}

async function planAll() {
  fresh();
  const mine = run;
  let asked;
  if (!told(() => (asked = settings()))) return;
  const { encoded, sizes, budget, size, ...parameters } = asked,
    labels = sizes.reduce((a, b) => a + b, 0),
    made = {};
  at("progress").hidden = false;
  const isDesigned = encoded.t.length <= DESIGNED;
  setting("criterion").forEach((one) => (one.disabled = one.value === "alc-fixed" && !isDesigned));
  if (!isDesigned && setting("criterion").value === "alc-fixed") setting("criterion").value = "macal";
  for (const [name, title] of Object.entries(CRITERIA)) {
    if (name === "alc-fixed" && !isDesigned) continue;
    const begin = () => new Pool(encoded.x, encoded.t, encoded.labelled),
      criterion = { name, ...parameters };
    const work =
      budget === null
        ? plan(begin(), criterion, sizes)
        : planMoney(begin, criterion, { cost: encoded.cost, budget, size });
    at("now").textContent = `planning with ${title}`;
    const show = (done) => (at("bar").value = budget === null ? done / labels : done);
    made[name] = await inSlices(work, show, () => run !== mine);
    if (run !== mine) return;
  }
  at("now").textContent = "measuring";
  await new Promise((resume) => setTimeout(resume));
  table = { ...encoded, budget, pool: new Pool(encoded.x, encoded.t) };
  plans = Object.fromEntries(Object.entries(made).map(([name, batches]) => [name, measured(batches)]));
  at("progress").hidden = true;
  at("results").hidden = false;
  show();
}

/** A plan with what it does; distances in units of the typical one. */
function measured(batches) {
  const { pool, labelled } = table,
    unit = typicalDistance(pool),
    people = sample(pool.t.length);
  const asked = batches.flat(),
    known = [...labelled, ...asked];
  const curve = coverage(pool, people, labelled, batches).map(([n, ...far]) => [n, ...far.map((v) => v / unit)]);
  const near = counterparts(pool, known).map((v) => v / unit);
  return { batches, asked, known, curve, near };
}

const arms = (units) => [0, 1].map((arm) => units.filter((i) => table.t[i] === arm).length);
const spent = (units) =>
  table.budget === null
    ? ""
    : `, for ${said(units.reduce((sum, i) => sum + table.cost[i], 0))} of the budget of ${said(table.budget)}`;
const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

function show() {
  if (!plans) return;
  const name = setting("criterion").value,
    made = plans[name],
    people = sample(table.t.length);
  const unit = typicalDistance(table.pool),
    before = counterparts(table.pool, people).map((v) => v / unit);
  const [control, treated] = arms(made.asked);
  at("answer").textContent =
    `${CRITERIA[name]} asks ${said(made.asked.length)} people in ${said(made.batches.length)} rounds: ${said(treated)} treated and ${said(control)} controls${spent(made.asked)}.`;
  at("far").textContent = farTold(columns, table).join(" ");
  const known = table.labelled.length ? "known or asked" : "asked";
  at("charts").innerHTML =
    shares(
      "How many are in either arm.",
      [
        { name: "everybody", counts: arms([...table.t.keys()]) },
        { name: known, counts: arms(made.known) },
      ],
      ARMS,
    ) +
    lines(
      "Share of people whose nearest counterpart in the other arm is within a distance.",
      [
        { name: "everybody", colour: EVERYBODY, dash: "5 3", points: distribution(before) },
        { name: known, colour: ASKED, points: distribution(made.near) },
      ],
      { xLabel: "distance to nearest counterpart", yLabel: "share", yRange: [0, 1] },
    ) +
    lines(
      "Mean distance of everybody to the nearest label of the same arm, as labels come.",
      ARMS.map((a, arm) => ({ ...a, dash: arm ? "none" : "5 3", points: made.curve.map((p) => [p[0], p[1 + arm]]) })),
      { xLabel: "people asked", yLabel: "distance to nearest label", zero: 0 },
    );
  at("compared").innerHTML = Object.entries(plans)
    .map(([other, p]) => {
      const cells = [...arms(p.asked).reverse(), middle(p.near), ...p.curve.at(-1).slice(1).reverse()];
      return `<tr${other === name ? ' class="now"' : ""}><th scope="row">${CRITERIA[other]}</th>${cells.map((v) => `<td>${said(v)}</td>`).join("")}</tr>`;
    })
    .join("");
  const rows = planned(table, made.batches);
  at("head").innerHTML = `<tr>${rows[0].map((v) => `<th scope="col">${escaped(v)}</th>`).join("")}</tr>`;
  at("first").innerHTML = rows
    .slice(1, 9)
    .map((r) => `<tr>${r.map((v) => `<td>${escaped(v)}</td>`).join("")}</tr>`)
    .join("");
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([write(planned(table, plans[setting("criterion").value].batches))], { type: "text/csv" }),
  );
  link.download = "plan.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Made-up people, older ones more often treated, the same ones every time. */
function example() {
  const generator = new Generator(0),
    part = () => generator.uniform();
  const people = Array.from({ length: 400 }, (_, k) => {
    const age = 18 + Math.floor(60 * part()),
      region = ["north", "south", "west"][generator.upTo(2)];
    return [`p${k + 1}`, age, Math.round(900 + 60 * age * part()), region, Number(part() < (age - 10) / 90)].map(
      String,
    );
  });
  return write([["person", "age", "income", "region", "treated"], ...people]);
}

async function take(file) {
  if (file) load(await file.arrayBuffer(), file.name);
}

const drop = at("drop");
for (const kind of ["dragenter", "dragover"])
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  take(event.dataTransfer.files[0]);
});
setting("file").addEventListener("change", () => take(setting("file").files[0]));
at("example").addEventListener("click", () => load(example(), "An example"));
at("stop").addEventListener("click", fresh);
at("download").addEventListener("click", download);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  planAll();
});
form.addEventListener("change", ({ target }) => {
  if (target.name === "criterion") show();
  else if (target.name !== "file") fresh(); // what is shown would no longer be of these settings
  if (target.name.startsWith("role-")) settle();
});
root.dataset.ready = "";
