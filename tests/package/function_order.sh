#!/bin/sh
# Fails if the functions that a first kernel needs do not stand together in the library: most names of
# the list are functions of it, and nine tenths of these lie within twice their size.
#   function_order.sh library list
library=$1 list=$2
nm -S --defined-only "$library" | awk -v listed="$(wc -l <"$list")" '
  NR == FNR { wanted[$1]; next }
  tolower($3) == "t" || tolower($3) == "w" {
    if ($4 in wanted) { names[$4]; if (!($1 in size)) { size[$1] = $2; print $1, $2 } }
  }
  END { for (name in names) ++found; print "found", found + 0, listed }' "$list" - | sort | awk '
  function number(hex, i, n) { for (i = 1; i <= length(hex); ++i) n = 16 * n + index("123456789abcdef", substr(hex, i, 1)); return n }
  $1 == "found" { found = $2; listed = $3; next }
  { at[count] = number($1); bytes += number($2); ++count }
  END {
    span = at[int(count * 0.95)] - at[int(count * 0.05)]
    printf "%d of %d functions, %.1f MB; nine tenths of them lie within %.1f MB\n", found, listed, bytes / 1e6, span / 1e6
    exit !(found >= 0.75 * listed && span <= 2 * bytes)
  }'
