# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_keyway_global_optspecs
    string join \n color= q/quiet v/verbose h/help V/version
end

function __fish_keyway_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_keyway_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_keyway_using_subcommand
    set -l cmd (__fish_keyway_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c keyway -n "__fish_keyway_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_needs_command" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_needs_command" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_needs_command" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "check" -d 'Look for mistakes and leaked credentials in the MCP configuration of plugins'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "run" -d 'Connect a client on standard input and output to one server, or to all of a plugin'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "tools" -d 'List the tools of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "resources" -d 'List the resources of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "prompts" -d 'List the prompts of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "call" -d 'Call a tool of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "read" -d 'Read a resource of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "trust" -d 'Decide which entries may run programs and get variables'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "migrate" -d 'Move credentials out of configuration files'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "readme" -d 'Print or update the section of a plugin\'s README that lists its variables'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "status" -d 'Show each server with its state and the variables it needs; runs and sends nothing'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "schema" -d 'Print the JSON Schema of `.mcp.json`, for completion in editors'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "completions" -d 'Print a script that completes commands and flags in a shell'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "man" -d 'Print the manual page; `keyway man check` that of a command'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "docs" -d 'Write the documents that are made from the code'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l env-file -d 'Take variables that are not in the environment from this file; implies `--env`' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l format -d 'How to print what was found' -r -f -a "human\t'For people, with the lines in question'
json\t'One JSON object'
sarif\t'SARIF 2.1.0, for code scanning'
github\t'Workflow commands of GitHub Actions'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -l strict -d 'Report as errors what is tolerated otherwise'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l env -d 'Also report variables that are not set in this environment'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l fix -d 'Apply the fixes that keep the meaning of a file'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l unsafe-fixes -d 'With `--fix` or `--diff`: also those after which something may behave differently'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l diff -d 'Print the changes that `--fix` would make, and change nothing'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l server -d 'Only this server, without a prefix on its names' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand run" -l standalone -d 'Work alone, even where a gateway runs'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l json -d 'Take all arguments from a JSON file, `-` for standard input' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand read" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "list" -d 'List what was approved'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "grant" -d 'Approve an entry as it is now, or let it have one more variable'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "revoke" -d 'Take an approval back'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "reset" -d 'Take all approvals back'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l env -d 'Also let its helper or process have this variable' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -f -a "env" -d 'Replace literal credentials by variables, keeping the values in an ignored `.env`'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -f -a "oauth" -d 'Reduce an entry to `type` and `url`, so that the host signs in by OAuth'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l server -d 'Only this server' -r
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l format -d 'How to print the changes' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l write -d 'Change the files; without it the changes are shown'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l server -d 'The server' -r
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l format -d 'How to print the changes' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l write -d 'Change the file; without it the changes are shown'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l format -d 'How to print the changes' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l write -d 'Put the section into the README, between its markers or at its end'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l check -d 'Fail if the README is not up to date; changes nothing'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand status" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand man" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand man" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l out -d 'Where to write them' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s V -l version -d 'Print version'
