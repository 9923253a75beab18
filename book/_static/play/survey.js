/** The page *Plan my survey*: file, roles, settings, plan, what it does, download. Nothing is sent anywhere. */

import { escaped, exact, lines, said, shares } from "./chart.js";
import { BadTable, decoded, read, write } from "./csv.js";
import { LEAST, drawn, forecast, misfits } from "./draw.js";
import { counterparts, coverage, distribution, sample, typicalDistance } from "./measures.js";
import { planMoney } from "./money.js";
import { Generator } from "./random.js";
import { CRITERIA, DESIGNED, Pool, inSlices, plan } from "./planner.js";
import { OPEN, ROLES, ask, determining, encode, farTold, guess, incomplete, mayBeLater, mayBeWeights, planned, spelt } from "./table.js";

const ARMS = [
  { name: "control", colour: "#D55E00" },
  { name: "treated", colour: "#0072B2" },
];
const EVERYBODY = "#808080",
  ASKED = "#CC3377",
  EXAMPLE = "An example";
const root = document.getElementById("survey");
const form = root.querySelector("form");
const at = (name) => root.querySelector(`[data-at="${name}"]`);
const setting = (name) => form.elements[name];
let columns = null,
  plans = null,
  table = null,
  run = 0;

/** Show a problem, where there is one; columns with missing values can be left out at once. */
function trouble(error) {
  at("problem").textContent = error?.message ?? "";
  at("leave").hidden = !error?.columns;
}

/** Show a problem; true if there was none. */
function told(work) {
  trouble();
  try {
    work();
    return true;
  } catch (error) {
    if (!(error instanceof BadTable)) throw error;
    trouble(error);
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
  at("roles").open = name !== EXAMPLE;
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
  let now = roles();
  const known = now.map((role) => (role === OPEN ? undefined : role));
  if (now.includes(OPEN)) now = guess(columns, known).map(({ role }) => role);
  now.forEach((role, k) => (setting(`role-${k}`).value = role));
  trouble(now.includes(OPEN) ? new BadTable(ask(columns, now)) : incomplete(columns, now));
}

/** Leave out all columns with missing values. */
function leave() {
  for (const column of incomplete(columns, roles()).columns)
    setting(`role-${columns.indexOf(column)}`).value = "left out";
  settle();
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
    throw new BadTable("A cost column needs a budget; fill it in, or leave the column out.");
  const cheapest = free.reduce((least, i) => Math.min(least, encoded.cost[i]), Infinity);
  if (budget < cheapest && budget !== null)
    throw new BadTable(`A budget of ${budget} is too small: the cheapest person costs ${cheapest}; raise it.`);
  const labels = budget === null ? count("labels", free.length) : 0,
    size = setting("size").value.trim() ? count("size") : Number(setting("size").max);
  const alpha = Number(setting("alpha").value);
  if (!setting("alpha").value.trim() || !(alpha >= 0 && alpha <= 1000))
    throw new BadTable(`MACAL's weight must be a number from 0 to 1000; it is "${setting("alpha").value}".`);
  const sizes = Array.from({ length: Math.ceil(labels / size) }, (_, k) => Math.min(size, labels - k * size));
  return { encoded, labels, sizes, budget, size, alpha, seed: count("seed") };
}

/** The plans that are to be made, by name: what is shown of each while it is, and the work. */
function wanted({ encoded, labels, sizes, budget, size, ...parameters }) {
  if (setting("aim").value === "average")
    return { draw: ["the probabilities", drawn(encoded, { budget: budget ?? labels, size, seed: parameters.seed })] };
  const isDesigned = encoded.t.length <= DESIGNED,
    begin = () => new Pool(encoded.x, encoded.t, encoded.labelled);
  setting("criterion").forEach((one) => (one.disabled = one.value === "alc-fixed" && !isDesigned));
  if (!isDesigned && setting("criterion").value === "alc-fixed") setting("criterion").value = "macal";
  const able = Object.entries(CRITERIA).filter(([name]) => name !== "alc-fixed" || isDesigned);
  return Object.fromEntries(
    able.map(([name, title]) => {
      const criterion = { name, ...parameters };
      const work =
        budget === null
          ? plan(begin(), criterion, sizes)
          : planMoney(begin, criterion, { cost: encoded.cost, budget, size });
      return [name, [title, work]];
    }),
  );
}

async function planAll() {
  fresh();
  const mine = run;
  let asked;
  if (!told(() => (asked = settings()))) return;
  const { encoded, budget, labels } = asked,
    made = {};
  at("progress").hidden = false;
  try {
    for (const [name, [title, work]] of Object.entries(wanted(asked))) {
      at("now").textContent = `planning: ${title}`;
      const show = (done) => (at("bar").value = budget === null && name !== "draw" ? done / labels : done);
      made[name] = await inSlices(work, show, () => run !== mine);
      if (run !== mine) return;
    }
  } catch (error) {
    if (!(error instanceof BadTable)) throw error;
    fresh();
    return trouble(error);
  }
  at("now").textContent = "measuring";
  await new Promise((resume) => setTimeout(resume));
  table = { ...encoded, budget, pool: new Pool(encoded.x, encoded.t) };
  plans = made.draw ?? Object.fromEntries(Object.entries(made).map(([name, batches]) => [name, measured(batches)]));
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
  return { batches, asked, curve, near };
}

const arms = (units) => [0, 1].map((arm) => units.filter((i) => table.t[i] === arm).length);
const spent = (units) =>
  table.budget === null
    ? ""
    : `, for ${exact(units.reduce((sum, i) => sum + table.cost[i], 0))} of the budget of ${exact(table.budget)}`;
const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** The plan that is shown: its rounds and, where people were drawn, the chance of each. */
const shown = () => (plans.chances ? plans : plans[setting("criterion").value]);

function show() {
  if (!plans) return;
  const { batches, chances } = shown(),
    asked = batches.flat(),
    [control, treated] = arms(asked);
  const who = chances ? "The sample" : CRITERIA[setting("criterion").value];
  at("answer").textContent =
    `${who} has ${said(asked.length)} people in ${said(batches.length)} round${batches.length === 1 ? "" : "s"}: ${said(treated)} treated and ${said(control)} controls${spent(asked)}.`;
  at("price").textContent = chances ? price() : "";
  at("warned").innerHTML = warnings().map((words) => `<li>${escaped(words)}</li>`).join("");
  const known = table.labelled.length ? "known or selected" : "selected";
  const counted = shares(
    "People in each arm.",
    [
      { name: "all people", counts: arms([...table.t.keys()]) },
      { name: known, counts: arms([...table.labelled, ...asked]) },
    ],
    ARMS,
  );
  at("comparison").hidden = Boolean(chances);
  at("charts").innerHTML = counted + (chances ? "" : compared(shown(), known));
  const rows = planned(table, batches, chances).map(([id, round, arm, , weight]) =>
    [id, round, arm, ...(weight ? [Number(weight) ? said(Number(weight)) : weight] : [])],
  );
  at("head").innerHTML = `<tr>${rows[0].map((v) => `<th scope="col">${escaped(v)}</th>`).join("")}</tr>`;
  at("first").innerHTML = rows
    .slice(1, 9)
    .map((r) => `<tr>${r.map((v) => `<td>${escaped(v)}</td>`).join("")}</tr>`)
    .join("");
}

/** How narrow the interval of a draw will be, and the cost of an equally precise simple random sample. */
function price() {
  if (misfits(table.t, plans.own)) return "";
  const { width, answers, simple } = forecast(table, plans),
    asked = plans.batches.flat();
  if (Math.min(...answers) < LEAST || !simple)
    return `No interval is expected: it needs ${LEAST} answers in each arm, and the plan is expected to bring ${answers.map((n) => said(Math.round(n))).join(" controls and ")} treated.`;
  const paid = asked.reduce((sum, i) => sum + table.cost[i], 0),
    money = (simple.money - paid) * (table.budget === null ? Number(setting("each").value) : 1),
    more = simple.answers > asked.length ? `, ${said(simple.answers - asked.length)} more` : "";
  return (
    `An equally precise simple random sample takes ${said(simple.answers)} answers${more}${money > 0 ? `, and costs ${exact(Math.round(money))} more` : ""}. ` +
    `Expected width of the average effect's 95% interval: ${said(width)}, in residual standard deviations of the outcome.`
  );
}

/** Warnings on the table, before money is spent. */
function warnings() {
  const later = mayBeLater(columns, roles()),
    weights = mayBeWeights(columns, roles()),
    alone = determining(table),
    list = (names) => names.map((name) => `"${name}"`).join(", ");
  return [
    ...farTold(columns, table),
    ...(later.length
      ? [`By name, ${list(later)} may have been measured after treatment and would then hide part of its effect. ${later.length > 1 ? "Choose the role proxy for those that predict the outcome, and leave out the others" : "If it predicts the outcome, choose the role proxy, else leave it out"}.`]
      : []),
    ...(weights.length
      ? [`By name, ${list(weights)} may be survey weights. Each row counts as one person here: leave the column out.`]
      : []),
    ...spelt(columns, roles()).map(([name, texts]) => `"${name}" holds ${list(texts)}, which differ only in spaces or capitals but count as different: unify them.`),
    ...alone.map((name) => `Overlap is poor: "${name}" alone reveals nearly every person's arm. An effect then rests on few people, or on a model alone.`),
    ...(plans.own && misfits(table.t, plans.own)
      ? ["Overlap is poor: inverse propensity weights of an arm miss the population total. No interval will be given."]
      : []),
  ];
}

/** Charts of a criterion's plan, and the table of all criteria. */
function compared(made, known) {
  const name = setting("criterion").value,
    people = sample(table.t.length),
    unit = typicalDistance(table.pool),
    before = counterparts(table.pool, people).map((v) => v / unit);
  at("compared").innerHTML = Object.entries(plans)
    .map(([other, p]) => {
      const cells = [...arms(p.asked).reverse(), middle(p.near), ...p.curve.at(-1).slice(1).reverse()];
      return `<tr${other === name ? ' class="now"' : ""}><th scope="row">${CRITERIA[other]}</th>${cells.map((v) => `<td>${said(v)}</td>`).join("")}</tr>`;
    })
    .join("");
  return (
    lines(
      "Share of people whose nearest counterpart in the other arm is within a distance.",
      [
        { name: "all people", colour: EVERYBODY, dash: "5 3", points: distribution(before) },
        { name: known, colour: ASKED, points: distribution(made.near) },
      ],
      { xLabel: "distance to nearest counterpart", yLabel: "share", yRange: [0, 1] },
    ) +
    lines(
      "Mean distance of all people to the nearest label of the same arm, as labels come.",
      ARMS.map((a, arm) => ({ ...a, dash: arm ? "none" : "5 3", points: made.curve.map((p) => [p[0], p[1 + arm]]) })),
      { xLabel: "people selected", yLabel: "distance to nearest label", zero: 0 },
    )
  );
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([write(planned(table, shown().batches, shown().chances))], { type: "text/csv" }),
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
at("example").addEventListener("click", () => load(example(), EXAMPLE));
at("leave").addEventListener("click", leave);
at("stop").addEventListener("click", fresh);
at("download").addEventListener("click", download);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  planAll();
});
form.addEventListener("change", ({ target }) => {
  if (target.name === "aim") at("individual").hidden = setting("aim").value === "average";
  if (target.name === "criterion") show();
  else if (target.name !== "file") fresh(); // what is shown would no longer be of these settings
  if (target.name.startsWith("role-")) settle();
});
load(example(), EXAMPLE);
planAll();
root.dataset.ready = "";
