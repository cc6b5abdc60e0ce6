"""Lets MkDocs read pages that are written for GitHub."""

import os
import posixpath
import re
import shutil

REPOSITORY = "https://github.com/towline-io/towline/blob/main/"
MERMAID = "assets/mermaid.min.js"
# Enough for a line of code, and for a table with full names.
STYLE = """<style>
.md-grid { max-width: 78rem }
.md-typeset td code { word-break: normal }
.md-nav__link { overflow-wrap: anywhere }
</style>"""
LINK = re.compile(r"\]\(((?:\.\./)+[^)\s]*)\)")


def on_page_markdown(markdown, page, config, files):
    """Sends links to files outside docs to the repository."""

    def leave(match):
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_path), match[1]))
        if path.startswith("docs/"):
            return match[0]
        return f"]({REPOSITORY}{path})"

    return LINK.sub(leave, markdown)


def on_post_page(output, page, config):
    """Makes pages wider. A page with a picture loads the program that draws it from the site. The theme would fetch it from unpkg.com."""
    output = output.replace("</head>", f"{STYLE}</head>", 1)
    if 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath(MERMAID, posixpath.dirname(page.url) or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)


def on_post_build(config):
    """Puts that program beside the pages."""
    shutil.copy(os.environ["MERMAID"], os.path.join(config["site_dir"], MERMAID))


def slug(text, separator):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w _-]", "", text.lower()).replace(" ", separator)
