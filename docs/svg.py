"""What the pictures of this folder have in common."""
from html import escape

WIDTH, LEFT = 880, 28
TEXTS = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #57606a }
  .title { font-size: 16px; font-weight: 600 } .step { font-size: 14px; font-weight: 600 }
  .title, .step, .number { fill: #1f2328 }"""
DARK_TEXTS = """
    text { fill: #b1bac4 }
    .title, .step, .number { fill: #f0f6fc }"""


def text(x, y, words, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def rect(x, y, width, height, kind):
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


def legend(y, entries):
    """entries are kinds of rectangles, what they mean, and the room that the words take."""
    out, x = [], LEFT
    for kind, words, room in entries:
        out += [rect(x, y - 10, 11, 11, kind), text(x + 17, y, words)]
        x += room
    return out


def page(title, height, light, dark, body):
    """A picture; light and dark are the style rules of its kinds in each scheme."""
    style = f"""
  .page {{ fill: #ffffff; stroke: #d0d7de }}
  {light}{TEXTS}
  @media (prefers-color-scheme: dark) {{
    .page {{ fill: #0d1117; stroke: #30363d }}
    {dark}{DARK_TEXTS}
  }}
"""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title><style>{style}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>', *body, "</svg>",
    ])
