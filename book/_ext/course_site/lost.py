"""Writes 404.html, the page for an address that does not exist. It stands alone: it is shown at any depth.

Its style is inside, and its links start from `html: baseurl` of _config.yml. Where the site lies elsewhere (`make serve`,
a preview), a line of script finds the root from the address: the part before book/ or labs/.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from sphinx import addnodes
from sphinx.application import Sphinx

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="robots" content="noindex" />
<title>Page not found - {site}</title>
<base href="{base}" />
<script>
(() => {{
  const base = document.querySelector("base");
  const above = location.pathname.match(/^.*?\\/(?=(book|labs)\\/)/);
  if (above) base.href = above[0];
  else if (new URL(base.href).host !== location.host) base.href = "/";
}})();
</script>
<link rel="icon" href="_static/favicon.svg" />
<style>
:root {{ color-scheme: light dark; --ink: #14181f; --paper: #fff; --link: #0b57d0; --line: #8a919c; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e8eaee; --paper: #14181e; --link: #8ab4f8; --line: #7d8590; }}
}}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 1.05rem/1.6 system-ui, sans-serif; }}
main {{ max-width: 42rem; margin: 0 auto; padding: 3rem 1.2rem; }}
h1 {{ line-height: 1.2; }}
h2 {{ font-size: 1.1rem; margin: 1.6rem 0 .3rem; }}
a {{ color: var(--link); }}
ul {{ margin: 0; padding-left: 1.2rem; }}
form {{ display: flex; flex-wrap: wrap; gap: .5rem; margin: 1.5rem 0; }}
input {{ flex: 1 1 12rem; }}
input, button {{ font: inherit; padding: .45rem .7rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--paper); color: var(--ink); }}
</style>
</head>
<body>
<main>
<p><a href="{home}">{site}</a></p>
<h1>This page does not exist</h1>
<p>The address may be mistyped, or the page may have moved. Search for what you need, or choose from the contents.</p>
<form action="search.html" role="search">
<input type="search" name="q" aria-label="Search" required />
<button>Search</button>
</form>
<nav aria-label="Contents">
{contents}
</nav>
</main>
</body>
</html>
"""


def contents(app: Sphinx) -> str:
    """Return the table of contents as HTML: each part's caption and a list of its pages."""
    parts = []
    for tree in app.env.tocs[app.config.root_doc].findall(addnodes.toctree):
        pages = [
            (title or app.env.titles[name].astext(), app.builder.get_target_uri(name))
            for title, name in tree["entries"]
        ]
        items = "\n".join(f'<li><a href="{escape(uri)}">{escape(title)}</a></li>' for title, uri in pages)
        parts.append(f"<h2>{escape(tree.get('caption') or 'Contents')}</h2>\n<ul>\n{items}\n</ul>")
    return "\n".join(parts)


def write_page(app: Sphinx, error: Exception | None) -> None:
    """Write 404.html into the site."""
    if error or app.builder.format != "html":
        return
    text = PAGE.format(
        site=escape(app.config.html_title or app.config.project),
        base=escape(app.config.html_baseurl.rstrip("/") + "/" if app.config.html_baseurl else "/"),
        home=escape(app.builder.get_target_uri(app.config.root_doc)),
        contents=contents(app),
    )
    (Path(app.outdir) / "404.html").write_text(text, "utf8")
