#compdef picket

_picket() {
  local -a before replies
  before=("${(@)words[2,CURRENT-1]}")
  # Behind -- stands another command.
  local -i end=${before[(Ie)--]}
  if (( end )); then
    shift $((end + 1)) words
    (( CURRENT -= end + 1 ))
    _normal
    return
  fi
  replies=("${(@f)$("$words[1]" complete-word "${(@Q)before}" "$words[CURRENT]" 2>/dev/null)}")
  if [[ -n "$replies[1]" ]]; then
    compadd -a replies
  else
    _files
  fi
}

if [[ "$funcstack[1]" = _picket ]]; then
  _picket
else
  compdef _picket picket
fi
