"""A figure to step through: frames drawn in advance as SVG, two native controls, a few lines of script, no library.

It works offline, in Jupyter and from the keyboard; without scripts, or on paper, the first frame shows.
"""

import hashlib
import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_MAX_BYTES = 2_000_000
MIN_SCALE = 0.65  # of its size to which a frame shrinks on a narrow screen, before it scrolls
_PAGE = """<div class="stepper" id="{uid}" role="group" aria-label="{label}">
<style>#{uid} .frame{{display:none}}#{uid} .frame.on{{display:block}}
#{uid} svg{{max-width:100%;min-width:min(28rem,{least}in);height:auto}}
#{uid} .bar{{display:flex;flex-wrap:wrap;gap:.4em .8em;align-items:center;margin:.3em 0}}
#{uid} .bar label{{white-space:nowrap}}#{uid} input[type=range]{{flex:1;min-width:8em}}
#{uid} output{{display:block;min-height:1.6em}}@media print{{#{uid} .bar{{display:none}}}}
html[data-theme=dark] #{uid} svg{{background:#e8e8e8;border-radius:4px}}</style>
<div class="bar"><span>{choice_name}</span>{radios}</div>
<div class="bar"><button type="button" aria-label="previous {step_name}">&#9664;</button>
<input type="range" min="0" max="{last}" value="0" step="1" aria-label="{step_name}">
<button type="button" aria-label="next {step_name}">&#9654;</button></div>
<output aria-live="polite">{first}</output>
{frames}
<script>(function(){{
var root=document.getElementById("{uid}"),n={steps},all=function(s){{return root.querySelectorAll(s)}},
frames=all(".frame"),slider=all("input[type=range]")[0],radios=all("input[type=radio]"),buttons=all("button"),said=all("output")[0];
function show(){{var c=0;radios.forEach(function(r,k){{if(r.checked)c=k}});var at=c*n+(+slider.value);
frames.forEach(function(f,k){{f.classList.toggle("on",k===at)}});said.textContent=frames[at].dataset.text;
slider.setAttribute("aria-valuetext",frames[at].dataset.text);buttons[0].disabled=+slider.value===0;buttons[1].disabled=+slider.value===n-1}}
slider.addEventListener("input",show);radios.forEach(function(r){{r.addEventListener("change",show)}});
buttons[0].addEventListener("click",function(){{slider.value=+slider.value-1;show()}});
buttons[1].addEventListener("click",function(){{slider.value=+slider.value+1;show()}});show()}})()</script>
</div>"""


def stepper(
    draw: Callable[[Axes, Any, int], Any],
    choices: Sequence[Any],
    steps: int,
    text: Callable[[Any, int], str],
    choice_name: str = "choice",
    step_name: str = "step",
    figsize: tuple[float, float] = (5.0, 3.2),
) -> HTML:
    """Draw a frame for every choice and step and return them under two controls.

    Args:
        draw: called as ``draw(ax, choice, step)``.
        choices: what the radio buttons offer, at least one.
        steps: frames per choice, at least 1; the slider runs from 0 to ``steps - 1``.
        text: what is said of a frame, in words: shown above it, and read aloud.
        choice_name: what is chosen.
        step_name: what is stepped through.
        figsize: of a frame, in inches; one narrower than five is drawn for a phone and shrinks to its width.

    Raises:
        ValueError: nothing to show, or frames that together weigh more than two megabytes.
    """
    if not choices or steps < 1:
        raise ValueError(f"at least one choice and one step are needed, got {len(choices)} and {steps}")
    drawn = [(text(c, k), _frame(draw, c, k, figsize)) for c in choices for k in range(steps)]
    uid = "stepper-" + hashlib.sha256(repr((choice_name, step_name, drawn)).encode()).hexdigest()[:8]
    frames = "\n".join(
        f'<div class="frame{"" if k else " on"}" data-text="{escape(said)}">{_own_ids(svg, f"{uid}-{k}", said)}</div>'
        for k, (said, svg) in enumerate(drawn)
    )
    if len(frames) > _MAX_BYTES:
        raise ValueError(
            f"{len(drawn)} frames weigh {len(frames):,} bytes, more than {_MAX_BYTES:,}: draw fewer or less"
        )
    radios = "".join(
        f'<label><input type="radio" name="{uid}"{"" if k else " checked"}> {escape(str(c))}</label>'
        for k, c in enumerate(choices)
    )
    names = {"choice_name": escape(choice_name), "step_name": escape(step_name), "first": escape(drawn[0][0])}
    label = escape(f"{step_name} by {step_name}, for each {choice_name}")
    numbers = {"steps": steps, "last": steps - 1, "least": f"{MIN_SCALE * figsize[0] if figsize[0] > 5 else 0:g}"}
    return HTML(_PAGE.format(uid=uid, label=label, radios=radios, frames=frames, **names, **numbers))


def _frame(draw: Callable[[Axes, Any, int], Any], choice: Any, step: int, figsize: tuple[float, float]) -> str:
    """One frame as SVG, text left as text, coordinates to a hundredth of a point."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "stepper", "font.family": "sans-serif"}):
        fig = Figure(figsize=figsize)  # not pyplot's: chosen inside this context, its backend would be lost with it
        draw(fig.subplots(), choice, step)
        page = io.StringIO()
        fig.savefig(page, format="svg", metadata={"Date": None})
    svg = page.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", svg)


def _own_ids(svg: str, prefix: str, said: str) -> str:
    """Keep the ids that the frame itself refers to, and make them its own: a page must not repeat one."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))

    def keep(match: re.Match[str]) -> str:
        return f' id="{prefix}-{match[1]}"' if match[1] in used else ""

    svg = re.sub(r'\sid="([^"]*)"', keep, svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(said)}"', 1)
