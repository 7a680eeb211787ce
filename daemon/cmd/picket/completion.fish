# fish completion for picket

function __picket_words
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete-word $words[2..-1] 2>/dev/null
end

complete -c picket -n 'not contains -- -- (commandline -opc)' -f -a '(__picket_words)'
complete -c picket -n 'not contains -- -- (commandline -opc); and string match -qr -- "^--?(config|assets|facts|text-file|file)\$" (commandline -opc)[-1]' -F
