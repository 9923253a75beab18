/** The table of claims: sorted by any column, filtered by words and verdicts, a link to each claim. */

const VERDICTS = ["holds", "holds in part", "fails", "open"];
const table = document.querySelector("a[id^='claim-']").closest("table");
const heads = [...table.tHead.rows[0].cells],
  body = table.tBodies[0],
  rows = [...body.rows];
const text = (row, k) => row.cells[k].textContent.trim();
const judged = heads.flatMap((head, k) => (rows.some((row) => VERDICTS.includes(text(row, k))) ? [k] : []));
const place = new Map(rows.map((row, k) => [row, k]));

/** What a row is sorted by: its place for the key, the order of the words for verdicts, else the text. */
function order(row, k) {
  if (k === 0) return place.get(row);
  const at = VERDICTS.indexOf(text(row, k));
  return judged.includes(k) ? (at < 0 ? VERDICTS.length : at) : text(row, k).toLowerCase();
}

const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));

function sort(k) {
  const up = heads[k].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[k].setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(
    ...rows.toSorted((a, b) => (up ? 1 : -1) * compare(order(a, k), order(b, k)) || place.get(a) - place.get(b)),
  );
}

const box = document.createElement("div");
box.className = "play ledger";
box.innerHTML = `<form class="fields"><label>words <input type="search"></label>${judged
  .map(
    (k) =>
      `<label>${heads[k].textContent} <select data-column="${k}">${["any verdict", ...VERDICTS].map((word) => `<option>${word}</option>`).join("")}</select></label>`,
  )
  .join("")}
<output aria-live="polite"></output></form>`;
const words = box.querySelector("input"),
  selects = [...box.querySelectorAll("select")];

function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/);
  for (const row of rows) {
    const said = row.textContent.toLowerCase();
    row.hidden = !(
      wanted.every((word) => said.includes(word)) &&
      selects.every((s) => !s.selectedIndex || text(row, s.dataset.column) === s.value)
    );
  }
  box.querySelector("output").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims`;
}

/** Show the claim that the address names. */
function follow() {
  const named = location.hash.startsWith("#claim-") && document.getElementById(location.hash.slice(1));
  rows.forEach((row) => row.classList.toggle("named", Boolean(named) && row.contains(named)));
  if (!named) return;
  if (named.closest("tr").hidden) {
    box.querySelector("form").reset();
    filter();
  }
  for (let fold = named.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  named.scrollIntoView({ block: "center" });
}

for (const [k, head] of heads.entries()) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.scope = "col";
  head.append(button);
  button.addEventListener("click", () => sort(k));
}
for (const row of rows) {
  const key = row.cells[0].querySelector("a");
  key.insertAdjacentHTML(
    "afterend",
    ` <a class="permalink" href="#${key.id}" aria-label="link to claim ${key.textContent}">#</a>`,
  );
}
window.addEventListener("beforeprint", () => table.querySelectorAll("details").forEach((fold) => (fold.open = true)));
table.classList.add("ledger-table");
table.before(box);
box.addEventListener("input", filter);
box.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", follow);
filter();
follow();
