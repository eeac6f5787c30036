# Sphinx's settings for the site that scripts/docs builds.
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # figures.py
project = "FlyDSL for C++"
author = "the FlyDSL for C++ authors"
extensions = ["myst_parser", "figures"]
html_theme = "furo"
html_title = "FlyDSL for C++"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
highlight_language = "cpp"
primary_domain = "cpp"
myst_heading_anchors = 4  # links to headings are GitHub's
suppress_warnings = ["misc.highlighting_failure"]  # shortened C++ in comments
toc_object_entries_show_parents = "hide"
