# Doxygen's input filter for a public header. The house has habits that Doxygen does not know:
#
# - A comment `///` speaks for all declarations on the lines that follow it, up to a blank line or
#   the next comment. Each of them gets a copy of it here.
# - A declaration of several fields has one comment. Each field gets a declaration of its own here.
# - The comment `//` at the top of a file says what the file is for.
# - Lines of a comment that are indented by two columns or more are formulas or code.
#
# It also leaves out what no user writes: the place in the source as a last parameter, which has a
# default everywhere, the constructors of a base class, the plumbing of kernel parameters, and
# declarations that exist to be refused.

function trimmed(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }

# The text of a comment as Doxygen is to read it, a line of it at a time. `code` is the state.
function comment_line(text) {
  if (text ~ /^   / && (code || blank)) {
    blank = 0
    if (!code) { code = 1; return "@code{.unparsed}\n" substr(text, 2) }
    return substr(text, 2)
  }
  if (text ~ /^[ \t]*$/) { blank = 1; return "" }
  blank = 0
  if (code) { code = 0; return "@endcode\n" text }
  return text
}
function comment_end() { blank = 0; if (code) { code = 0; return "@endcode\n" } return "" }

# What a declaration is without strings and comments, for counting brackets.
function bare(text) {
  gsub(/\\./, "", text); gsub(/"[^"]*"/, "", text); gsub(/'[^']'/, "", text)
  sub(/\/\/.*/, "", text); gsub(/\/\*[^*]*\*\//, "", text)
  return text
}
function count(text, bracket,    n) { n = 0; while ((i = index(text, bracket)) > 0) { ++n; text = substr(text, i + 1) } return n }

# Whether a declaration opens a scope whose members are declarations too.
function opens_scope(text,    depth, k, c) {
  text = trimmed(text)
  while (text ~ /^template *</) {
    depth = 0
    for (k = index(text, "<"); k <= length(text); ++k) {
      c = substr(text, k, 1)
      if (c == "<") ++depth
      if (c == ">" && --depth == 0) break
    }
    text = trimmed(substr(text, k + 1))
    if (text ~ /^requires /) sub(/^requires [^ \n]+( |\n *)/, "", text)
  }
  return text ~ /^(typedef )?(inline )?(class|struct|union|namespace|extern "C")[ \n{]/ && text ~ /\{[ \t]*$/
}

# A declaration of several fields as one for each: "int a = 1, b = 2;".
function split_fields(text, comment,    parts, n, depth, k, c, type, out, m) {
  n = 1; parts[1] = ""; depth = 0
  for (k = 1; k <= length(text); ++k) {
    c = substr(text, k, 1)
    if (c ~ /[<({]/) ++depth
    if (c ~ /[>)}]/) --depth
    if (c == "," && depth == 0) { parts[++n] = ""; continue }
    parts[n] = parts[n] c
  }
  if (n == 1) return text ";"
  type = parts[1]
  sub(/ *=.*/, "", type)
  sub(/[A-Za-z_0-9]+$/, "", type)
  out = parts[1] ";"
  for (m = 2; m <= n; ++m) out = out (comment == "" ? "" : "\n/** " comment " */") "\n" type trimmed(parts[m]) ";"
  return out
}

function emit(text,    own, plain) {
  plain = bare(text)
  if (text ~ /FLYDSL_REFUSED|FLYDSL_CHANGES_REFUSED|param_kind|param_dtype|from_param|#define/ || plain ~ /using [A-Za-z:]+::[A-Za-z]+;/ ||
      plain ~ /^[ \t]*friend (class|struct) /) return
  if (text ~ /^[ \t]*(template *<[^>]*> *)?(class|struct) [A-Za-z]+;/ || text ~ /detail::Handle &handle\(|\) -> [A-Z][A-Za-z]*<.*;|struct [A-Za-z]+ : [A-Za-z]+<decltype/) return
  if (plain ~ /= (default|delete);/ || plain ~ /^(inline |template <[^>]*>[ \n]+)[A-Za-z_<>]+::[A-Za-z_]+(::[A-Za-z_]+)?\(/) return
  gsub(/,?[ \n]*(Loc|const std::source_location &|std::source_location) *[a-z]+ = (Loc|std::source_location)::current\(\)/, "", text)
  own = ""
  if (match(text, /[;}] *\/\/\/<[^\n]*$/)) {
    own = substr(text, RSTART); sub(/.*\/\/\/< */, "", own); text = substr(text, 1, RSTART)
  }
  if (own == "" && group != "" && !first) printf "/** %s */\n", group
  if (own != "") printf "/** %s */\n", own
  if (text !~ /\n/ && text ~ /,/ && text ~ /;[ \t]*$/ && text !~ /[()]|^[ \t]*(using|template|friend|enum|class|struct)/) {
    sub(/;[ \t]*$/, "", text)
    text = split_fields(text, own != "" ? own : group)
  }
  print text
}

FNR == 1 { top = 1; scope = 0; group = ""; decl = ""; depth = 0; first = 0; code = 0; blank = 0 }

# A header in C has comments of the other kind, and they stand as they are.
FNR == 1 && /^\/\*/ { c_header = 1; print "/** @file"; sub(/^\/\*/, "") }
c_header { if (!sub(/^\/\* /, "/** ")) sub(/;( *)\/\* /, ";/**< "); print; next }

# The comment at the top of the file.
top && /^\/\// { line = $0; sub(/^\/\//, "", line); head = head comment_line(line) "\n"; next }
top { top = 0; printf "/** @file\n%s%s*/\n", head, comment_end(); head = "" }

decl == "" && /^[ \t]*\/\/\/($|[^<\/])/ {
  line = $0; sub(/^[ \t]*\/\/\//, "", line)
  if (!inside) { group = ""; inside = 1 }
  group = group comment_line(line) "\n"
  next
}
inside { inside = 0; group = group comment_end(); first = 1; printf "/** %s */\n", group }

decl == "" && (/^[ \t]*$/ || /^[ \t]*\/\// || /^[ \t]*#/ || /^[ \t]*(public|private|protected):/ || /^FLYDSL_NAMESPACE/) {
  if (/^[ \t]*#.*\\$/) macro = 1
  group = ""; first = 0
  print; next
}
decl == "" && /^[ \t]*}/ { group = scopes[scope--]; first = 0; print; next }
macro { print; if (!/\\$/) macro = 0; next }

{
  decl = decl == "" ? $0 : decl "\n" $0
  plain = bare($0)
  depth += count(plain, "{") - count(plain, "}") + count(plain, "(") - count(plain, ")")
  if (opens_scope(decl)) { emit_head = decl; decl = ""; depth = 0; if (group != "" && !first) printf "/** %s */\n", group; print emit_head; scopes[++scope] = group; group = ""; first = 0; next }
  if (depth <= 0 && plain ~ /[;}][ \t]*$|^[ \t]*FLYDSL_[A-Z_]+(\(.*\))?[ \t]*$/) {
    depth = 0
    emit(decl)
    decl = ""; first = 0
  }
}
