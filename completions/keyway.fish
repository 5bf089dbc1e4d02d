# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_keyway_global_optspecs
    string join \n color= q/quiet v/verbose events= debug= debug-file= h/help V/version
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

complete -c keyway -n "__fish_keyway_needs_command" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_needs_command" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_needs_command" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_needs_command" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_needs_command" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_needs_command" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_needs_command" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "demo" -d 'Try Keyway on demo servers of every kind, on this machine only'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "check" -d 'Check MCP configuration for mistakes and leaked credentials'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "run" -d 'Serve a plugin\'s servers to a client over stdio'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "serve" -d 'Serve plugins over HTTP to the clients on this machine'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "service" -d 'Run the gateway as a user service that starts with the first client'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "open" -d 'Open the dashboard of the running gateway in the browser'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "token" -d 'Manage the gateway tokens that let clients in'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "env" -d 'Store encrypted variables, for clients that are not started from a shell'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "tools" -d 'List the tools of servers'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "resources" -d 'List the resources of servers'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "prompts" -d 'List the prompts of servers'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "call" -d 'Call a tool'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "read" -d 'Read a resource'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "login" -d 'Sign in to a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "logout" -d 'Sign out of servers: close sessions, revoke and delete tokens'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "install" -d 'Add servers to an MCP client, which then starts `keyway run`'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "uninstall" -d 'Remove the entries that `keyway install` wrote'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "probe" -d 'Check a server\'s health endpoint, then list its tools'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "doctor" -d 'Find out why servers do not work, and what to do next'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "explain" -d 'Explain an error code or rule: what happened, why, what to do'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "mtls" -d 'Connect a client over stdio to a server that requires mutual TLS'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "trust" -d 'Manage which entries may run programs and receive variables'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "vault" -d 'Inspect the encrypted store and change its key'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "migrate" -d 'Move credentials out of configuration files'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "rotate" -d 'Replace a server\'s credential; the old one stays until the new one works'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "readme" -d 'Print or update the README section that lists a plugin\'s variables'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "status" -d 'Show servers, their state and their variables; sends nothing'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "schema" -d 'Print the JSON Schema of `.mcp.json`, for editors'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "client-metadata" -d 'Print the OAuth client metadata document to host'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "completions" -d 'Print a shell completion script'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "man" -d 'Print a manual page as roff'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "help" -d 'Show help'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "docs" -d 'Write the documents that are made from the code'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l browser -d 'Command that opens the sign-in page [default: `BROWSER`, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l check -d 'Run every step without a person: sign in, call a tool of each server, renew a token; exit 0 only if all of it worked'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l env-file -d 'Read unset variables from FILE; implies `--env`' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l format -d 'Output format' -r -f -a "human\t'For people, with the lines in question'
json\t'One JSON object'
sarif\t'SARIF 2.1.0, for code scanning'
github\t'Workflow commands of GitHub Actions'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l strict -d 'Report tolerated spellings and fields as errors'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l env -d 'Also report variables that are not set'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l fix -d 'Apply fixes that keep the meaning of the file'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l unsafe-fixes -d 'With `--fix` or `--diff`, also apply fixes that may change behavior'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l diff -d 'Show what `--fix` would change without writing it'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand run" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand run" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l standalone -d 'Do not reuse connections of a running gateway'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l listen -d 'Loopback address to listen on; port 0 picks a free port' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l socket -d 'Unix socket for processes of the same user, which need no token [default: `gateway.sock` in the runtime folder]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l while-input -d 'End when standard input does'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -f -a "install" -d 'Show and write the service\'s files, then enable it'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -f -a "status" -d 'Show whether the service is installed, enabled and answering'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -f -a "uninstall" -d 'Disable the service and remove its files'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l listen -d 'Loopback address to listen on' -r
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l profile -d 'Profile whose approvals and sign-ins the service uses' -r
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l dry-run -d 'Show the changes without writing them'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l format -d 'Output format' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l dry-run -d 'Show the changes without writing them'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand open" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand open" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand open" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand open" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand open" -l socket -d 'Socket of the gateway [default: the one that `keyway serve` uses]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand open" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand open" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand open" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand open" -l print -d 'Print the link instead of opening it; it works once, within five minutes'
complete -c keyway -n "__fish_keyway_using_subcommand open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand open" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -f -a "new" -d 'Create a gateway token; it is printed once and cannot be shown again'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -f -a "list" -d 'List gateway tokens'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -f -a "revoke" -d 'Revoke a gateway token and close its sessions'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l name -d 'Name of the client that will use it' -r
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l server -d 'Limit the token to this server: a server of the plugin in this folder, `PLUGIN:SERVER`, or `PLUGIN:*` for a whole plugin; repeatable' -r
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l config -d 'Plugin folder or file that declares SERVER' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -f -a "set" -d 'Store a variable; prompts for the value, or reads it from standard input'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -f -a "unset" -d 'Delete a stored variable'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -f -a "list" -d 'List stored variables with date and length, never a value'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l json -d 'Read all arguments from a JSON file, `-` for standard input' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l timeout -d 'Time to wait for a result or a progress report [default: the entry\'s timeout, else 60]' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l unchecked -d 'Send the arguments without checking them against the tool\'s schema'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand read" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l timeout -d 'Time to wait for the result [default: the entry\'s timeout, else 60]' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand read" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand login" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand login" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l scopes -d 'Request these scopes instead of the ones that the server names' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand login" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand login" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l no-browser -d 'Print the sign-in URL instead of opening a browser'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l device -d 'Sign in with a code on another device'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand login" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand login" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l all -d 'Sign out of every server of the plugin'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand install" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand install" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand install" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l env-file -d 'Pass this env file to `keyway run`' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l profile -d 'Pass this profile to `keyway run`' -r
complete -c keyway -n "__fish_keyway_using_subcommand install" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l project -d 'Use the client\'s project file instead of your user file'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l all -d 'Install every server of the plugin, one entry each'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l mcp-remote -d 'Replace entries that run `mcp-remote`; their servers move to the plugin at `--config`, or to a folder that Keyway manages'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l replace -d 'Replace an entry of the same name; `keyway uninstall` restores it'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l dry-run -d 'Show the changes without writing them'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l server -d 'The same as SERVER' -r
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l project -d 'Use the client\'s project file instead of your user file'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l dry-run -d 'Show the changes without writing them'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l timeout -d 'Time limit for each server' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l bundle -d 'Also write an archive without credentials to FILE, for a bug report' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l cert -d 'Client certificate chain' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l key -d 'Private key of the certificate' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l cacert -d 'Trust only the root certificates in this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l key-passphrase-env -d 'Variable that holds the passphrase of an encrypted key' -r
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "list" -d 'List approvals'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "grant" -d 'Approve entries as they are now'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "revoke" -d 'Revoke approvals'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "reset" -d 'Revoke all approvals'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l env -d 'Also pass this variable to the entry\'s helper or process' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l all -d 'Approve every server of the plugin that needs it'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -f -a "status" -d 'Show where the vault is, what it contains and how its key is protected'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -f -a "verify" -d 'Decrypt every record and report damage; changes nothing'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -f -a "rekey" -d 'Change the vault\'s key or where it is stored; running processes continue'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l format -d 'Output format' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l format -d 'Output format' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l to -d 'Where to store the new key' -r -f -a "keyring\t'The desktop\'s keyring'
file\t'A generated file, readable by every program that runs as you'
passphrase\t'Not stored: derived from a passphrase that you type'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l key-file -d 'Use the key in this private file, which you keep' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l passphrase-file -d 'Derive the new key from the first line of this private file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l format -d 'Output format' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -f -a "env" -d 'Replace literal credentials with variables, and move the values to an ignored `.env`'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -f -a "oauth" -d 'Reduce an entry to `type` and `url`, so that Keyway signs in with OAuth'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l format -d 'Output format' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l write -d 'Write the changes instead of showing them'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l offline -d 'Do not test the result against the servers'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l trust -d 'Approve the entries for this test only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l format -d 'Output format' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l write -d 'Write the changes instead of showing them'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l offline -d 'Do not test the result against the servers'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l trust -d 'Approve the entries for this test only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l variable -d 'Variable to replace, if several feed the server' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l config -d 'Plugin folder or file [default: this folder, or the nearest above it in the repository]' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l profile -d 'Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml, else `default`]' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l account -d 'Account to use if several are signed in' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l browser -d 'Command that opens pages [default: `BROWSER`, else config.toml, else the desktop\'s browser]' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l no-browser -d 'Print the sign-in URL instead of opening a browser'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l trust -d 'Approve this entry for this run only'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l format -d 'Output format' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l write -d 'Write the section into the README, between its markers or at its end'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l check -d 'Fail if the README is out of date; changes nothing'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand status" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l server -d 'Always a server, also where a folder has its name' -r
complete -c keyway -n "__fish_keyway_using_subcommand status" -l config -d 'Plugin folder or file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l env-file -d 'Read unset variables from FILE' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l format -d 'Output format' -r -f -a "human\t'A table'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand man" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand man" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand man" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand man" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand man" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand help" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand help" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand help" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand help" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand help" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand help" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand help" -l all -d 'List all commands'
complete -c keyway -n "__fish_keyway_using_subcommand help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand help" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l color -d 'When to use color [default: `color` in config.toml, else auto]' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l events -d 'Append events to FILE as JSON Lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l debug -d 'Log to standard error: everything, or only these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l debug-file -d 'Append the log to FILE instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l out -d 'Where to write them' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s v -l verbose -d 'Also print notes'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s V -l version -d 'Print version'
