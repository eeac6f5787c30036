#!/usr/bin/env bash
# site_test.sh SOURCE FOLDER: the site of the guides and of the API can be built, without a warning, and has what it is to have.
# Where Doxygen or Sphinx are not installed it says so, and CTest counts it as skipped.
set -euo pipefail
source=$1 site=$2
cd "$source"
for tool in doxygen xsltproc sphinx-build xmllint; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
scripts/docs "$site"
docs/site/check-links "$site"

fail() { echo "$*" >&2; exit 1; }
# Each guide, each sample with its source, and a text that the search finds by a word of it.
for page in docs/*.md docs/kernels/*.md; do [ -f "$site/${page%.md}.html" ] || fail "$page has no page"; done
for sample in samples/[0-9]*.cpp; do
  grep -q 'class="cp">#include' "$site/$sample.html" || fail "$sample has no page with its source"
done
grep -q 'preshuffl' "$site/searchindex.js" || fail "the search does not know the guides' words"
find "$site/_images" -name tiles.svg | grep -q . || fail "there are no pictures"
# The figures of the benches are tables and bars.
for page in bench/README bench/kernels/README; do
  [ "$(grep -c '<table' "$site/$page.html")" -ge "$(grep -c '^\[Figures: ' "$page.md")" ] || fail "$page lacks tables of figures"
done
grep -q 'class="bars"' "$site/bench/kernels/README.html" || fail "figures of the kernel library have no bars"

# Each function that a header declares outside of its inner namespaces has an entry on the header's page.
entries=0
for header in $(cd include && find flydsl -name '*.h' ! -path '*/detail/*'); do
  names=$(awk '/^namespace (detail|impl) {/ { inner = 1 } /^} \/\/ namespace (detail|impl)/ { inner = 0 } !inner' "include/$header" |
          grep -oP '^(\[\[nodiscard\]\] )?FLYDSL_API [^(=]*?\b\K[a-z_0-9]+(?=\()' | grep -v '^operator' | sort -u || true)
  for name in $names; do
    grep -q "<span class=\"pre\">$name</span>" "$site/api/${header%.h}.html" || fail "$header: $name has no entry"
    entries=$((entries + 1))
  done
done
[ "$entries" -gt 100 ] || fail "only $entries functions were looked for"

# The checks find what is missing: a page, an anchor, a comment.
broken=$site.broken
rm -rf "$broken" && cp -r "$site" "$broken"
rm "$broken/docs/borders.html"
docs/site/check-links "$broken" >"$broken.log" && fail "a page that is gone is not missed"
grep -q 'borders.html.* leads to no file' "$broken.log" || fail "the message about a page that is gone: $(cat "$broken.log")"
cp "$site/docs/borders.html" "$broken/docs/" && sed -i 's/ id="checks"/ id="other"/' "$broken/docs/emulator.html"
docs/site/check-links "$broken" >"$broken.log" && fail "an anchor that is gone is not missed"
grep -q '#checks leads to no anchor' "$broken.log" || fail "the message about an anchor that is gone: $(cat "$broken.log")"
rm -rf "$broken" "$broken.log"
echo "$entries functions have entries"
