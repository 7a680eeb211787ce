# bash completion for picket

_picket() {
  local line="${COMP_LINE:0:COMP_POINT}" words cur reply prefix=
  # The line, not COMP_WORDS, which bash cuts at each colon of an address; but for a line with quotes in it.
  if [[ "$line" == *[\'\"\\\$\`]* || -z "$line" ]]; then
    words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  else
    read -ra words <<<"$line"
    words=("${words[@]:1}")
    [[ "$line" == *[[:space:]] ]] && words+=("")
  fi
  ((${#words[@]})) || words=("")
  cur="${words[-1]}"
  # What stands before the last colon is on the line already, and bash wants only what comes behind it.
  [[ "$cur" == *:* && "$COMP_WORDBREAKS" == *:* ]] && prefix="${cur%"${cur##*:}"}"
  COMPREPLY=()
  # Names come from whoever made a ticket: they are never expanded, and quoted where the shell would.
  while IFS= read -r reply; do
    [[ "$reply" == "$cur"* ]] || continue
    reply="${reply#"$prefix"}"
    COMPREPLY+=("$(printf %q "$reply")")
  done < <("${COMP_WORDS[0]}" complete-word "${words[@]}" 2>/dev/null)
}

complete -o default -F _picket picket
