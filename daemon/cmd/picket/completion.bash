# bash completion for picket

_picket() {
  local cur="${COMP_WORDS[COMP_CWORD]}" word words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  for word in "${words[@]}"; do
    # Behind -- stands another command: never run picket with it.
    if [[ "$word" == -- ]]; then
      COMPREPLY=()
      return
    fi
  done
  [[ "$cur" == -* && "$cur" != -- ]] && words+=("$cur")
  [[ "$cur" == -- ]] && words+=(-)
  mapfile -t COMPREPLY < <(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur")
}

complete -o default -F _picket picket
