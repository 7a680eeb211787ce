#compdef picket

_picket() {
  local -a before replies
  before=("${(@)words[1,CURRENT-1]}")
  # Behind -- stands another command: never run picket with it.
  if (( ${before[(Ie)--]} )); then
    _normal
    return
  fi
  case "$words[CURRENT]" in
    --) before+=(-) ;;
    -*) before+=("$words[CURRENT]") ;;
  esac
  replies=("${(@f)$("${(@)before}" --generate-bash-completion 2>/dev/null)}")
  if [[ -n "$replies[1]" ]]; then
    _describe 'values' replies
  else
    _files
  fi
}

compdef _picket picket
