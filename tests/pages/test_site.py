"""The built site in a real browser: complete, silent, self-contained, readable on a phone and in the dark."""

import os
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from cases import exhaustive
from processes import served

from macal import plots
from reproduction.book import ROOT, walk
from reproduction.figures import explorer
from reproduction.site import MATHJAX, MOVED

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
FIRST = [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]  # pages that the sidebar shows
MAIN = [TOC["root"], *(page for page in FIRST if page.startswith("notebooks/"))]
NO_FIGURES = {"theory", "algorithm"}  # but figures to step through
WIDE_PAGES = {f"notebooks/{name}" for name in ("toy", "backbones", "data", "acquired")}  # small multiples, which scroll
DEVICES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
# names of code in running text: methods, columns, what pandas prints for nothing
RAW = rf"\b({'|'.join(name for name in plots.methods() if '-' in name)}|[a-z]\w*_\w+|NaN)\b"
LOOK = """async raw => {
    await window.MathJax?.startup?.promise;
    const root = document.documentElement, maths = [...document.querySelectorAll(".math")];
    const drawn = m => m.querySelector("mjx-container") && !m.querySelector("mjx-merror");
    const cut = m => m.scrollWidth > m.clientWidth + 1 && getComputedStyle(m).overflowX == "hidden";
    const short = [...document.querySelectorAll("article abbr")].map(a => a.textContent);
    const figures = [...document.querySelectorAll("img[src*='_images/']")];
    const stretched = i => Math.abs(i.clientWidth * i.naturalHeight / i.clientHeight / i.naturalWidth - 1) > 0.02;
    const text = document.createTreeWalker(
        document.querySelector("article") ?? document.createElement("p"), NodeFilter.SHOW_TEXT), names = [];
    while (text.nextNode())
        if (!text.currentNode.parentElement.closest("code, pre, script, style, svg, .math, option"))
            names.push(...(text.currentNode.textContent.match(RegExp(raw, "g")) ?? []));
    return {
        distorted: figures.filter(i => i.clientWidth && stretched(i)).map(i => i.src),
        unrendered: maths.filter(m => !drawn(m)).map(m => m.textContent),
        clipped: maths.filter(cut).map(m => m.id || m.parentElement.textContent.slice(0, 60)),
        overflow: root.scrollWidth - root.clientWidth,
        theme: root.dataset.theme,
        undescribed: [...document.images].filter(i => !i.alt || /[0-9a-f]{20}/.test(i.alt)).map(i => i.src),
        names,
        cut: [...document.querySelectorAll("div.highlight pre")]
            .filter(pre => pre.scrollWidth > pre.clientWidth + 1).map(pre => pre.textContent.slice(0, 60)),
        repeated: short.filter((name, k) => short.indexOf(name) < k),
    };
}"""
WIDE = """() => [...document.querySelectorAll("article :is(table, .stepper svg, img[src*='_images/'])")]
    .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
    .map(one => {
        let box = one.parentElement;
        while (box.scrollWidth <= box.clientWidth + 1 || !["auto", "scroll"].includes(getComputedStyle(box).overflowX))
            box = box.parentElement;
        const [cue, says] = [getComputedStyle(box, "::before"), one.caption?.textContent || one.alt || box.tagName];
        const fades = () => getComputedStyle(box).maskImage != "none", before = fades();
        box.scrollLeft = 0;
        box.focus();
        return {
            says: says.slice(0, 40),
            reached: document.activeElement == box,
            named: box.matches("a, figure") || (box.getAttribute("role") == "region"
                && !!(box.getAttribute("aria-label") || document.getElementById(box.getAttribute("aria-labelledby")))),
            cue: cue.display == "block" && cue.content.includes("scroll"),
            fades: before,
        };
    })"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the freshly built site."""
    output = tmp_path_factory.mktemp("site")
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", ".", "--path-output", output, "-W", "-n", "--keep-going", "--all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr
    return output / "_build" / "html"


def pages(site):
    found = {path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts}
    return sorted(found - {f"{page}.html" for page in MOVED})


class Page(HTMLParser):
    """The links of a page and the places that links can point to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.append(value or "")
            elif name in ("id", "name"):
                self.places.add(value)


def test_every_internal_link_and_fragment_resolves(site):
    read, broken = cache(Page), []
    for page in pages(site):
        for link in read(site / page).links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (site / page).parent / unquote(url.path) if url.path else site / page
            known = target.is_file() and (target.suffix != ".html" or unquote(url.fragment) in read(target).places)
            if not known:
                broken.append(f"{page}: {link}")
    assert not broken, "\n".join(broken)


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served, on this machine only."""
    with served(site) as address:
        yield address


@pytest.fixture
def visitor(browser, address):
    """Opens a tab of one device; returns it and the list of what goes wrong in it."""
    contexts = []

    def open_tab(device):
        contexts.append(browser.new_context(viewport=DEVICES[device], base_url=address))
        tab, troubles = contexts[-1].new_page(), []

        def note(trouble, wrong=True):
            if wrong:
                troubles.append(f"{urlsplit(tab.url).path}: {trouble}")

        own = (address, "data:", "blob:")
        # a slow machine uses a font later than Chromium expects
        tab.on(
            "console",
            lambda m: note(f"{m.type}: {m.text}", m.type in ("error", "warning") and "preloaded" not in m.text),
        )
        tab.on("pageerror", lambda error: note(f"script error: {error}"))
        tab.on("request", lambda request: note(f"foreign: {request.url}", not request.url.startswith(own)))
        tab.on("response", lambda answer: note(f"{answer.status}: {answer.url}", answer.status >= 400))
        # aborted: the tab went on to the next page before this one's icon came
        tab.on("requestfailed", lambda r: note(f"{r.failure}: {r.url}", r.failure != "net::ERR_ABORTED"))
        return tab, troubles

    yield open_tab
    for context in contexts:
        context.close()


def barriers(tab):
    """What axe-core finds serious or critical for people with assistive technology, without what has text beside it."""
    from axe_playwright_python.sync_playwright import Axe

    tab.add_style_tag(content="* { transition: none !important }")  # no colour half-way to its end
    # drawn formulas, frames of steppers and coloured code: tens of thousands of elements, minutes of search
    tab.evaluate("document.querySelectorAll('mjx-container, .stepper svg, pre').forEach(e => e.replaceChildren())")
    for found in Axe().run(tab, options={"resultTypes": ["violations"], "preload": False}).response["violations"]:
        if found["impact"] in ("serious", "critical"):
            shown = [(node["html"][:100], [check["data"] for check in node["any"]]) for node in found["nodes"]]
            yield f"{found['id']}, {len(shown)} times: {shown[:3]}"


# the way in, text with many formulas, raw HTML; the ledger has a test of its own
KEY = ["index.html", "notebooks/problem.html", "notebooks/plan_my_survey.html"]
FORM = """() => {
    const article = document.querySelector("article"), column = article.getBoundingClientRect();
    const said = one => one?.innerText ?? "";
    const words = text => (text.match(/[\\p{L}\\d][\\p{L}\\d.,'’-]*/gu) ?? []).length;
    const numbers = text => (text.match(/\\d[\\d.,]*/g) ?? []).length;
    const seen = [...article.querySelectorAll("img, .stepper, .play, .strip, table, pre")]
        .filter(one => one.checkVisibility() && one.getBoundingClientRect().height > 20);
    const shown = one => one.matches("img, .stepper, .play, .strip, table.cards, pre");
    const answer = said(article.querySelector(".answer > p:not(.admonition-title)"));
    const plain = [...article.querySelectorAll("p")].filter(one => !one.closest("figcaption, .strip"))
        .map(said).join(" ");
    return {
        words: words(answer), numbers: numbers(answer), whole: words(plain), all: numbers(plain),
        phone: [...article.querySelectorAll("img.phone-drawing")].map(one => one.checkVisibility()),
        page: [...article.querySelectorAll("img.page-drawing")].map(one => one.checkVisibility()),
        top: Math.min(...seen.filter(shown).map(one => one.getBoundingClientRect().top + scrollY)),
        wide: seen.filter(one => one.matches("img, table, .stepper svg"))
            .filter(one => one.getBoundingClientRect().right > column.right + 1)
            .map(one => one.alt || one.caption?.textContent || one.className || one.tagName),
    };
}"""


@pytest.mark.parametrize(
    ("device", "every"), [("desktop", False), exhaustive("desktop", True), exhaustive("phone", True)]
)
def test_every_page_is_silent_rendered_and_fits(site, visitor, device, every):
    tab, troubles = visitor(device)
    # by day on one device and by night on the other: colours move nothing
    for page, scheme in zip(
        pages(site) if every else KEY, cycle(("light", "dark") if device == "phone" else ("dark", "light"))
    ):
        tab.emulate_media(color_scheme=scheme)
        tab.goto(f"/{page}", wait_until="load")
        if page == "index.html":
            tab.wait_for_url("**/notebooks/index.html")
        seen = tab.evaluate(LOOK, RAW)
        expected = dict.fromkeys(seen, []) | {"overflow": 0, "theme": scheme}
        if page in ("prf-prf.html", "book/api.html"):  # they name files, and parameters
            expected["names"] = seen["names"]
        troubles += [f"{page}: {key} {value}" for key, value in seen.items() if value != expected[key]]
        if folder := os.environ.get("MACAL_SCREENSHOTS"):
            name = page.removesuffix(".html").replace("/", "-")
            tab.screenshot(path=Path(folder, f"{name}-{device}-{scheme}.png"), full_page=True)
        if device == "desktop":
            troubles += [f"{page}: {fault}" for fault in barriers(tab)]
    assert not troubles, "\n".join(troubles)


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_a_main_page_says_its_answer_and_shows_its_figure_first(visitor, device):
    """Answers of at most 40 words and 3 numbers, the figure in the first screen, nothing wider than its column."""
    tab, troubles = visitor(device)
    for page in MAIN:
        tab.goto(f"/{page}.html", wait_until="load")
        tab.wait_for_timeout(200)
        found = tab.evaluate(FORM)
        bounds = {"words": 40, "numbers": 3, "top": DEVICES[device]["height"]}
        if page == "notebooks/index":
            bounds |= {"whole": 200, "all": 8}
        troubles += [f"{page}: {key} {found[key]}" for key, most in bounds.items() if found[key] > most]
        troubles += [] if found["words"] else [f"{page}: no answer"]
        wrong = [k for k in ("phone", "page") if {*found[k]} - {(k == "phone") == (device == "phone")}]
        troubles += [f"{page}: a drawing for the other device is shown" for _ in wrong]
        if device == "desktop" or page not in WIDE_PAGES:
            troubles += [f"{page}: wider than its column: {one}" for one in found["wide"]]
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
@pytest.mark.parametrize("every", [False, True])
def test_on_a_phone_what_is_wider_than_the_screen_says_so_and_is_reached_by_keyboard(site, visitor, every):
    tab, troubles = visitor("phone")
    few, seen = ["book/notation.html"], 0
    for page in (p for p in (pages(site) if every else few) if p != "index.html"):  # which leads on
        tab.goto(f"/{page}", wait_until="load")
        tab.evaluate("document.querySelectorAll('article details').forEach(one => one.open = true)")
        tab.wait_for_timeout(100)
        wide = tab.evaluate(WIDE)
        seen += len(wide)
        troubles += [f"{page}: {one}" for one in wide if not all(one.values())]
        if not every:
            troubles += barriers(tab)
    assert seen > (50 if every else 0), seen
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
def test_old_addresses_lead_on(visitor):
    tab, troubles = visitor("desktop")
    for page, place in MOVED.items():
        tab.goto(f"/{page}.html")
        tab.wait_for_url(f"**/{place}")
        assert tab.locator(f"[id='{urlsplit(place).fragment}']").count() == 1, place
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["phone", "desktop"])
def test_the_sidebar_shows_the_main_pages_and_unfolds_to_every_page(site, visitor, device):
    tab, troubles = visitor(device)
    tab.goto("/notebooks/index.html")
    if device == "phone":
        tab.locator(".primary-toggle").first.click()
    entries = tab.locator(".bd-sidebar-primary nav.bd-links a")
    entries.first.wait_for()
    shown = [entry for entry in entries.all() if entry.is_visible()]
    assert len(shown) == len(FIRST) + 1  # the front page; others are folded
    assert entries.count() == len([page for page in pages(site) if page.startswith(("notebooks/", "book/"))])
    hidden = next(entry for entry in entries.all() if not entry.is_visible())
    tab.locator(".bd-sidebar-primary summary[aria-label^='pages below The theory on one page'] .toctree-toggle").click()
    hidden.click()
    tab.wait_for_url("**/problem.html")
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
def test_the_first_use_of_a_short_name_says_what_it_stands_for(visitor):
    tab, _ = visitor("desktop")
    tab.goto("/notebooks/glance.html")
    meaning = tab.locator("article abbr", has_text="PEHE").get_attribute("title")
    tab.goto("/book/notation.html")
    assert meaning and meaning in tab.locator("article").inner_text()
    assert not tab.locator("article abbr").count()
    tab.goto("/notebooks/ledger.html")
    assert tab.locator("article table abbr", has_text="BALD").count() == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_stepper_obeys_mouse_and_keys(visitor, device):
    tab, troubles = visitor(device)
    tab.goto("/notebooks/algorithm.html")
    stepper = tab.locator(".stepper").first

    def shows(beginning):
        said = stepper.locator("output").inner_text()
        assert said.startswith(beginning), said
        assert stepper.locator(".frame:visible").get_attribute("data-text") == said

    shows("MACAL, selection 1:")
    assert stepper.get_by_label("previous selection").is_disabled()
    stepper.get_by_label("next selection").click()
    shows("MACAL, selection 2:")
    stepper.locator("input[type=range]").press("ArrowRight")
    shows("MACAL, selection 3:")
    stepper.locator("input[type=radio]").first.press("ArrowDown")
    shows("QHTE, selection 3:")
    stepper.locator("input[type=range]").press("End")
    assert stepper.get_by_label("next selection").is_disabled()
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
def test_what_is_explored_is_what_is_recorded(site):
    assert (site / "_static" / "play" / "results.json").read_text(encoding="utf-8") == explorer.page()


@pytest.mark.exhaustive
def test_claims_are_sorted_filtered_and_found(visitor):
    tab, troubles = visitor("desktop")
    tab.goto("/notebooks/ledger.html")
    table = tab.locator("table.claims")

    def column(k):
        return [text.strip() for text in table.locator(f"tbody tr:visible td:nth-child({k})").all_inner_texts()]

    keys, verdicts = column(1), column(4)
    n = len(keys)
    tab.get_by_role("button", name="verdict", exact=True).click()
    words = ["holds", "holds in part", "fails", "open"]
    places = [words.index(verdict) for verdict in column(4)]
    assert places == sorted(places) and len(places) == n and len(set(places)) > 2
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("verdict")
    tab.get_by_role("button", name="verdict", exact=True).click()
    assert table.locator("th[aria-sort=descending]").count() == 1
    tab.get_by_role("button", name="key").click()
    assert column(1) == keys and column(4) == verdicts
    tab.locator("select[data-column='3']").select_option("fails")
    refuted = verdicts.count("fails")
    assert tab.locator(".ledger output").inner_text() == f"{refuted} of {n} claims"
    assert len(column(1)) == refuted
    tab.get_by_role("searchbox").fill("theorem 1")
    assert 0 < len(column(1)) < refuted
    tab.goto("/notebooks/ledger.html#claim-T1")
    assert table.locator("tr.named").inner_text().startswith("T1") and len(column(1)) == n
    table.get_by_role("link", name="link to claim F1a").click()
    tab.wait_for_url("**#claim-F1a")
    assert tab.locator("#claim-F1a").is_visible() and table.locator("tr.named").inner_text().startswith("F1a")
    tab.goto("/notebooks/problem.html")
    tab.get_by_role("link", name="T1", exact=True).click()
    tab.wait_for_url("**/ledger.html#claim-T1")
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
def test_search_finds_a_word_of_the_book(visitor):
    tab, troubles = visitor("desktop")
    tab.goto("/search.html?q=treatment")
    tab.locator("#search-results li a").first.wait_for(timeout=10_000)
    assert not troubles, "\n".join(troubles)


@pytest.mark.exhaustive
def test_a_page_without_formulas_is_light(site):
    """Page, scripts, styles, the icons' font and images, as they are on disk: at most 1.6 MB."""
    heavy, light = [], 0
    for page in pages(site):
        links = {urlsplit(link).path for link in Page(site / page).links} - {""}
        files = {((site / page).parent / unquote(link)).resolve() for link in links}
        text = (site / page).read_text(encoding="utf-8")
        assert any(f.name == MATHJAX for f in files) == ('class="math ' in text), page
        loaded = [f for f in files if f.suffix in (".js", ".css", ".png", ".svg", ".woff2") and f.is_file()]
        if not any(f.name == MATHJAX for f in loaded):
            light += 1
            size = (site / page).stat().st_size + sum(f.stat().st_size for f in loaded)
            heavy += [f"{page}: {size / 1e6:.2f} MB"] if size > 1.6e6 else []
    assert not heavy and light > 5, "\n".join(heavy)
    assert not list(site.rglob("fontawesome/*/js/*"))


@pytest.mark.exhaustive
def test_each_page_of_the_walk_can_be_had_as_a_notebook(site, visitor):
    tab, troubles = visitor("desktop")
    for name in walk():
        tab.goto(f"/notebooks/{name}.html", wait_until="load")
        (link,) = {one.get_attribute("href") for one in tab.locator("a.btn-download-source-button").all()}
        page = nbformat.read((site / "notebooks" / unquote(link)).resolve(), 4)
        assert page.cells and "{glue:text}" not in str(page.cells[0]), name
        assert tab.locator(f"figcaption a[href='run_it.html#make-{name}']").count() or name in NO_FIGURES, name
    assert not troubles, "\n".join(troubles)
