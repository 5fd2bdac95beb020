"""docs/peers.svg: a line for each workload, times on a logarithmic scale relative to ours. A bar leads from our time to
that of the best peer, to the right where it is slower, grey where spreads explain the difference; dots are the other peers."""
import html
import math

from page import best_peer, show, verdict
from roster import OURS, REFERENCE
from workloads import SECTIONS

PLOT, NOTE, LINE, TOP = 420, 254, 17, 64
CHARACTER = 7  # pixels that one of 12 takes on average in a wide font (DejaVu Sans: up to 6.96 in our rows)
COLOURS = {"PyTorch": "#e8543f", "torch.compile": "#a3271a", "AOTInductor": "#ff9d8a", "MLX": "#8a8f98",
           "JAX": "#9b59d0", "TensorFlow": "#f2a000", "XLA": "#a8741a", "ONNX Runtime": "#5b6ee1", "OpenVINO": "#d65db1",
           "DataLoader": "#c96a5b", "Eigen": "#3b8fd6", "xtensor": "#1ba39c"}
STYLE = """
  .paper { fill: #ffffff; }
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; } .note { fill: #57606a; } .grid { stroke: #d0d7de; } .one { stroke: #57606a; }
  .faster { fill: #2da44e; } .slower { fill: #cf222e; } .tie { fill: #8c959f; }
  .reference { stroke: #24292f; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; }
    text { fill: #e6edf3; } .note { fill: #9198a1; } .grid { stroke: #3d444d; } .one { stroke: #9198a1; }
    .faster { fill: #3fb950; } .slower { fill: #f85149; } .tie { fill: #6e7681; }
    .reference { stroke: #e6edf3; }
  }
"""


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{kind}>{html.escape(words)}</text>'


def factor(ratio):
    """How much slower than ours, or faster."""
    return f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"


def picture(run):
    shown = {OURS, REFERENCE, *COLOURS}
    found = {name: {n: t for n, t in row.times.items() if n in shown} for name, row in run["rows"].items()}
    compared = [(title, [(row, found[row.name]) for row in rows
                         if OURS in found.get(row.name, {}) and best_peer(found[row.name])]) for title, rows in SECTIONS]
    compared = [(title, rows) for title, rows in compared if rows]
    ratios = [t.median / times[OURS].median for _, rows in compared for _, times in rows for t in times.values()]
    low = min(-1, math.floor(math.log10(min(ratios, default=1))))
    high = max(1, math.ceil(math.log10(max(ratios, default=1))))

    label = max([300, *(CHARACTER * len(row.what) + 24 for _, rows in compared for row, _ in rows)])  # left of the plot

    def place(ratio):
        return label + PLOT * (math.log10(ratio) - low) / (high - low)

    height = TOP + LINE * sum(len(rows) + 2 for _, rows in compared) + 12
    width = label + PLOT + NOTE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           f"<style>{STYLE}</style>", f'<path class="paper" d="M0 0h{width}v{height}h-{width}z"/>',
           text(8, 18, "Time relative to Pantograph; the bar ends at the best peer", "title")]
    x = 8.0
    for name, colour in COLOURS.items():
        if any(name in times for _, rows in compared for _, times in rows):
            out += [f'<circle cx="{x + 4:.0f}" cy="34" r="4" fill="{colour}"/>', text(x + 12, 38, name)]
            x += 30 + 7 * len(name)
    if any(REFERENCE in times for _, rows in compared for _, times in rows):
        out += [f'<path class="reference" d="M{x + 4:.0f} 28v12"/>', text(x + 12, 38, "reference")]
    for exponent in range(low, high + 1):
        x = place(10.0 ** exponent)
        out.append(f'<path class="{"grid" if exponent else "one"}" d="M{x:.1f} {TOP - 6}V{height - 12}"/>')
        out.append(text(x, TOP - 10, f"{10.0 ** exponent:g}x", "note", "middle"))
    y = TOP
    for title, rows in compared:
        y += 2 * LINE
        out.append(text(8, y - 5, title, "title"))
        for row, times in rows:
            ours = times[OURS].median
            name, best = best_peer(times)
            ratio = best.median / ours
            left, right = sorted((place(1), place(ratio)))
            kind = run.get("verdicts", {}).get(row.name) or verdict(times[OURS], best)
            out += [text(label - 8, y + 12, row.what, anchor="end"),
                    f'<rect class="{kind}" x="{left:.1f}" y="{y + 3}" width="{max(right - left, 1):.1f}" height="11"/>']
            for other, t in times.items():
                at = place(t.median / ours)
                if other in COLOURS:
                    out.append(f'<circle cx="{at:.1f}" cy="{y + 8.5}" r="4" fill="{COLOURS[other]}">'
                               f"<title>{other}: {show(t.median)}</title></circle>")
                elif other == REFERENCE:
                    out.append(f'<path class="reference" d="M{at:.1f} {y + 2}v13"><title>{show(t.median)}</title></path>')
            out.append(text(label + PLOT + 8, y + 12, f"{show(ours)}; {name} {factor(ratio)}{', a tie' if kind == 'tie' else ''}", "note"))
            y += LINE
    return "\n".join(out + ["</svg>", ""])
