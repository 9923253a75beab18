/**
 * Tables and figures that are wider than the screen scroll in their box. While one does, the box says so, has a name for
 * those who do not see it, and is reached by keyboard; `custom.css` draws the sign, and fades the edge up to the end.
 */
(() => {
  const article = document.querySelector("article");
  if (!article) return;

  const scrolls = (box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX);

  function boxOf(thing) {
    let box = thing.parentElement;
    while (box !== article && !scrolls(box)) box = box.parentElement;
    return box === article ? null : box;
  }

  /** What a box holds, in words: a table's caption, a figure's description, or the heading above. */
  function named(thing) {
    const headings = [...article.querySelectorAll("h1, h2, h3")].filter(
      (h) => h.compareDocumentPosition(thing) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
    const heading = headings.at(-1)?.firstChild?.textContent ?? document.title;
    return (thing.caption?.textContent || thing.alt || heading).trim().replace(/#$/, ""); // less the link to itself
  }

  function atEnd({ currentTarget: box }) {
    box.dataset.wider = box.scrollLeft + box.clientWidth < box.scrollWidth - 2 ? "more" : "end";
  }

  function look() {
    for (const thing of article.querySelectorAll("table, img[src*='_images/'], .stepper svg")) {
      const box = thing.checkVisibility() ? boxOf(thing) : null;
      if (!box) continue;
      if (box.scrollWidth <= box.clientWidth + 1) {
        delete box.dataset.wider;
        continue;
      }
      atEnd({ currentTarget: box });
      box.addEventListener("scroll", atEnd, { passive: true });
      box.tabIndex = 0;
      if (box.matches("a, figure") || box.hasAttribute("role")) continue; // they have a meaning and a name
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", named(thing));
    }
  }

  new ResizeObserver(look).observe(article); // also told of what is unfolded and of images that arrive
  for (const kind of ["input", "click"]) article.addEventListener(kind, () => setTimeout(look)); // another step is shown
})();
