"""The whole book as one PDF: all pages in one, printed by a headless Chromium.

``python -m reproduction.pdf`` writes ``_build/macal-checked.pdf``. It needs Playwright's Python package and Chromium.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from reproduction.book import ROOT

FOOT = (
    '<div style="font-size:8px;width:100%;text-align:center"><span class="pageNumber"></span> / '
    '<span class="totalPages"></span></div>'
)
READY = """async () => {
    const all = selector => document.querySelectorAll(selector);
    document.documentElement.dataset.theme = "light";
    const style = document.createElement("style");
    style.textContent = `* {transition: none !important}
        [id^="document-"] {display: block; break-before: page}`;
    document.head.append(style);
    document.querySelector("h1").insertAdjacentHTML("afterend", `<p>This is the site on paper. Code that is folded there
        is left out, figures with steps show the last one, and what is to be played with is there alone.</p>`);
    all(".play").forEach(one => one.innerHTML = "<p>On the site there is something to play with here.</p>");
    for (const slider of all("input[type=range]")) {
        slider.value = slider.max;
        slider.dispatchEvent(new Event("input"));
    }
    for (const one of all("details.hide")) {
        const results = one.innerText.includes("solution") ? [] : one.querySelectorAll(".cell_output");
        one.replaceWith(...results);
    }
    all("details").forEach(one => one.open = true);
    all("a.image-reference").forEach(one => one.removeAttribute("href"));
    await window.MathJax?.startup?.promise;
    await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
}"""

SCALE, EDGE = 0.75, 14  # of the type, and mm of margin at the sides
WIDTH = round((210 - 2 * EDGE) / 25.4 * 96 / SCALE)  # of the text on A4, CSS pixels
FAULTS = """() => {
    const all = selector => [...document.querySelectorAll(selector)], said = one => one.textContent.trim().slice(0, 60);
    const leads = link => document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
    const cut = one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline";
    const wide = one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
    return [
        ...all("article a[href^='#']").filter(link => !leads(link)).map(link => `${link.hash} of "${said(link)}"`),
        ...all("article a[href^='file:'], article a[href$='.html']").map(link => `${link.href} leads out`),
        ...all("article pre, article div, article table").filter(cut).map(one => `cut: ${said(one)}`),
        ...all("article img, article svg, article table").filter(wide).map(one => `too wide: ${one.alt || said(one)}`),
    ];
}"""


def one_page(folder: Path) -> Path:
    """Render all pages into one, below a folder, and return its file."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", ROOT, "--builder", "singlehtml", "--path-output", folder, "--all"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    built = folder / "_build" / "singlehtml"
    book, page = built / "book.html", (built / "notebooks" / "index.html").read_text(encoding="utf-8")
    # its links start from the root, but for figures that one page takes from another
    page = page.replace('src="../_images/', 'src="_images/').replace('href="notebooks/index.html#', 'href="#')

    def inside(link: re.Match[str]) -> str:
        places = (link[2], f"document-notebooks/{link[1]}")
        return next((f'href="#{place}"' for place in places if place and f'id="{place}"' in page), link[0])

    book.write_text(re.sub(r'href="(?:\.\./notebooks/)?(\w+)\.html(?:#([^"]*))?"', inside, page), encoding="utf-8")
    return book


def chromium() -> str:
    """Path of the browser.

    Raises:
        FileNotFoundError: none is installed.
    """
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise FileNotFoundError("no Chromium is installed (chromium, chromium-browser or google-chrome)")


def write(browser: Any, page: Path, target: Path) -> list[str]:
    """Print a page: A4, numbered, with an outline; solutions, proofs and results are open, folded code is left out.

    Args:
        browser: Playwright's, started.
        page: file of the page.
        target: file of the PDF.

    Returns:
        What is wrong on paper: links that lead nowhere or out of the file, what is cut, what is too wide.
    """
    tab = browser.new_page(color_scheme="light", reduced_motion="reduce")
    tab.set_default_timeout(600_000)
    tab.goto(page.as_uri())
    tab.evaluate(READY)
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": WIDTH, "height": 1200})
    faults = tab.evaluate(FAULTS)
    margin = {"top": "16mm", "bottom": "16mm", "left": f"{EDGE}mm", "right": f"{EDGE}mm"}
    options = {"display_header_footer": True, "header_template": "<span></span>", "footer_template": FOOT}
    options |= {"print_background": True, "outline": True, "tagged": True, "scale": SCALE}
    tab.pdf(path=target, format="A4", margin=margin, **options)
    tab.close()
    return faults


def main() -> None:
    """Print the book into the folder of what is built."""
    from playwright.sync_api import sync_playwright

    target = ROOT / "_build" / "macal-checked.pdf"
    page = one_page(ROOT / "_build" / "pdf")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        print("".join(f"{fault}\n" for fault in write(browser, page, target)), end="")
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
