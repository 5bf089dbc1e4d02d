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

complete -c keyway -n "__fish_keyway_needs_command" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_needs_command" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_needs_command" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_needs_command" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_needs_command" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_needs_command" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_needs_command" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "demo" -d 'See it work, over servers of every kind on this machine'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "check" -d 'Look for mistakes and leaked credentials in the MCP configuration of plugins'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "run" -d 'Connect a client on standard input and output to one server, or to a plugin'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "serve" -d 'Serve plugins over HTTP to every client on this machine'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "service" -d 'Run the gateway as a service that starts when the first client comes'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "open" -d 'Open the dashboard of the running `keyway serve` in the browser'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "token" -d 'Decide which clients may use the gateway, and for which servers'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "env" -d 'Keep variables sealed, for where no shell sets them'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "tools" -d 'List the tools of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "resources" -d 'List the resources of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "prompts" -d 'List the prompts of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "call" -d 'Call a tool of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "read" -d 'Read a resource of a server'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "login" -d 'Sign in to a server in the browser'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "logout" -d 'Sign out of a server: sessions end, its tokens are revoked and deleted'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "install" -d 'Write servers into the file of an MCP client, which then starts `keyway run`'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "uninstall" -d 'Take out of the file of an MCP client what `install` wrote, and nothing else'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "probe" -d 'Find out whether a server works: its health address, then a list that decides'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "doctor" -d 'Find out why servers do not work: the first fault, and the next command'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "explain" -d 'Explain a code: what happened, why, and what to do'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "mtls" -d 'Connect a client on standard input and output to a server behind mutual TLS'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "trust" -d 'Decide which entries may run programs and get variables'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "vault" -d 'Look after the sealed store of approvals and sign-ins'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "migrate" -d 'Move credentials out of configuration files'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "rotate" -d 'Replace the credential of a server; the new one is tested before the old one goes'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "readme" -d 'Print or update the section of a plugin\'s README that lists its variables'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "status" -d 'Show each server with its state and the variables it needs; sends nothing'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "schema" -d 'Print the JSON Schema of `.mcp.json`, for completion in editors'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "client-metadata" -d 'Print the document to host at a client-ID metadata address'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "completions" -d 'Print a script that completes commands and flags in a shell'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "man" -d 'Print the manual page; `keyway man check` that of a command'
complete -c keyway -n "__fish_keyway_needs_command" -f -a "docs" -d 'Write the documents that are made from the code'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l browser -d 'The program that opens the consent page; otherwise `BROWSER`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -l check -d 'Sign in without a person, call a tool of every server, let a token expire, and end; exit 0 only if all of it worked'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand demo" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l env-file -d 'Take variables that are not in the environment from this file; implies `--env`' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand check" -l format -d 'How to print what was found' -r -f -a "human\t'For people, with the lines in question'
json\t'One JSON object'
sarif\t'SARIF 2.1.0, for code scanning'
github\t'Workflow commands of GitHub Actions'"
complete -c keyway -n "__fish_keyway_using_subcommand check" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l strict -d 'Report as errors what is tolerated otherwise'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l env -d 'Also report variables that are not set in this environment'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l fix -d 'Apply the fixes that keep the meaning of a file'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l unsafe-fixes -d 'With `--fix` or `--diff`: also those after which something may behave differently'
complete -c keyway -n "__fish_keyway_using_subcommand check" -l diff -d 'Print the changes that `--fix` would make, and change nothing'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand check" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand run" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand run" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l server -d 'Only this server, without a prefix on its names' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand run" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l standalone -d 'Work alone, even where a gateway runs'
complete -c keyway -n "__fish_keyway_using_subcommand run" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand run" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l listen -d 'Where to listen; only 127.0.0.1 and [::1] are taken, and port 0 means any' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l socket -d 'The socket for processes of the same user, which need no token; otherwise `gateway.sock` in the folder for run-time files' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l while-input -d 'End when standard input does'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand serve" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -f -a "install" -d 'Write the service\'s files and switch it on; the files are shown first'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -f -a "status" -d 'Say whether the service is installed, on, and answers'
complete -c keyway -n "__fish_keyway_using_subcommand service; and not __fish_seen_subcommand_from install status uninstall" -f -a "uninstall" -d 'Switch the service off and remove its files'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l listen -d 'Where to listen; only 127.0.0.1 and [::1] are taken' -r
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l profile -d 'Let the service use the approvals and sign-ins of this profile' -r
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -l dry-run -d 'Show the changes and write nothing'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from install" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l format -d 'How to print it' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -l dry-run -d 'Show the changes and write nothing'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand open" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand open" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand open" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand open" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand open" -l socket -d 'The socket of the gateway; otherwise where `keyway serve` has it' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand open" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand open" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand open" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand open" -l print -d 'Print the link, which works once within five minutes, and open nothing'
complete -c keyway -n "__fish_keyway_using_subcommand open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand open" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -f -a "new" -d 'Make a token; it is printed once and kept nowhere'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -f -a "list" -d 'List the tokens, by name'
complete -c keyway -n "__fish_keyway_using_subcommand token; and not __fish_seen_subcommand_from new list revoke" -f -a "revoke" -d 'Take a token back; its sessions end'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l name -d 'What to call the client that gets it' -r
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l server -d 'Only this server: `PLUGIN:SERVER`, `PLUGIN:*` for all of a plugin, or the name of one of the plugin where you stand; may be repeated' -r
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l config -d 'Plugin folder or file that a bare name belongs to' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from new" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand token; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -f -a "set" -d 'Keep a variable; its value is asked for on the terminal, or read from standard input'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -f -a "unset" -d 'Destroy what is kept of a variable'
complete -c keyway -n "__fish_keyway_using_subcommand env; and not __fish_seen_subcommand_from set unset list" -f -a "list" -d 'List the variables: names, when they were set, and how long they are; never a value'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from set" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from unset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand env; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand tools" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand resources" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand prompts" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l json -d 'Take all arguments from a JSON file, `-` for standard input' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l timeout -d 'How long to wait for the result, or for news of its progress; otherwise as in the entry, otherwise 60' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand call" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand call" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand call" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l unchecked -d 'Do not ask the server what the tool takes; send the arguments as they are'
complete -c keyway -n "__fish_keyway_using_subcommand call" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand call" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand read" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l timeout -d 'How long to wait for the result; otherwise as in the entry, otherwise 60' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand read" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand read" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand read" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand read" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand read" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand login" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand login" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l scopes -d 'Ask for these scopes instead of what the server names' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand login" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand login" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand login" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand login" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l no-browser -d 'Print the address and open nothing'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l device -d 'Sign in by a code that is typed on another device'
complete -c keyway -n "__fish_keyway_using_subcommand login" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand login" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand login" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l format -d 'How to print the result' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l all -d 'Of all servers of the plugin'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand logout" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand install" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand install" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l server -d 'Only this server' -r
complete -c keyway -n "__fish_keyway_using_subcommand install" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l env-file -d 'Let the server take variables from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand install" -l profile -d 'Let the server use the approvals of this profile' -r
complete -c keyway -n "__fish_keyway_using_subcommand install" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l project -d 'The file of this project in place of your own'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l all -d 'Every server of the plugin, each with an entry of its own'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l mcp-remote -d 'Put entries of ours in the place of those that run `mcp-remote`; the servers go to the plugin at `--config`, otherwise to a folder that Keyway keeps'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l replace -d 'Replace an entry of the same name; `uninstall` brings it back'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand install" -l dry-run -d 'Show the changes and write nothing'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand install" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l server -d 'Only the entry of this name' -r
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l project -d 'The file of this project in place of your own'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s y -l yes -d 'Write without asking'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -l dry-run -d 'Show the changes and write nothing'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand uninstall" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand probe" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l server -d 'Only this server' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l timeout -d 'Seconds that each server may take' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l bundle -d 'Also write an archive for a bug report, without any credential, to this new file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand explain" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand explain" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l cert -d 'The client certificate in PEM, then those that lead to a root' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l key -d 'Its key in PEM' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l cacert -d 'Believe only the root certificates in this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -l key-passphrase-env -d 'The variable that holds the passphrase of an encrypted key' -r
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand mtls" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "list" -d 'List what was approved'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "grant" -d 'Approve an entry as it is now, or let it have one more variable'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "revoke" -d 'Take an approval back'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and not __fish_seen_subcommand_from list grant revoke reset" -f -a "reset" -d 'Take all approvals back'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object, items as the server sent them'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l env -d 'Also let its helper or process have this variable' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from grant" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from revoke" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand trust; and __fish_seen_subcommand_from reset" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -f -a "status" -d 'Say where the vault is, what is in it and how its key is protected'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -f -a "verify" -d 'Open everything in the vault and report what is damaged; changes nothing'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and not __fish_seen_subcommand_from status verify rekey" -f -a "rekey" -d 'Change the vault\'s key, or where it is kept; other processes go on working'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l format -d 'How to print it' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l format -d 'How to print it' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from verify" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l to -d 'Keep the new key here' -r -f -a "keyring\t'In the desktop\'s keyring'
file\t'In a generated file that anyone can read who can read your files as you'
passphrase\t'Nowhere: it is derived from a passphrase that you type'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l key-file -d 'Take the new key from this private file, which you keep' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l passphrase-file -d 'Derive the new key from the first line of this private file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l format -d 'How to print it' -r -f -a "human\t'Lines'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand vault; and __fish_seen_subcommand_from rekey" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -f -a "env" -d 'Replace literal credentials by variables, keeping the values in an ignored `.env`'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and not __fish_seen_subcommand_from env oauth" -f -a "oauth" -d 'Reduce an entry to `type` and `url`, so that the host signs in by OAuth'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l server -d 'Only this server' -r
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l format -d 'How to print the changes' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l write -d 'Change the files; without it the changes are shown'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l offline -d 'Do not ask the servers whether the result works'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -l trust -d 'Approve what the entries run and send, for asking them'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from env" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l server -d 'The server' -r
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l format -d 'How to print the changes' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l write -d 'Change the file; without it the changes are shown'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l offline -d 'Do not ask the servers whether the result works'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -l trust -d 'Approve what the entries run and send, for asking them'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand migrate; and __fish_seen_subcommand_from oauth" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l variable -d 'Which variable, where several feed the server' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l config -d 'Plugin folder or file; without it, this folder or the nearest above it in the same repository' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l profile -d 'Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`, otherwise `default`' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l account -d 'Which of several accounts at one server' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l browser -d 'The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise the desktop\'s' -r
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l no-browser -d 'Print the address of a consent page and open nothing'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -l trust -d 'Approve what the entry runs and sends, for this time only'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand rotate" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l format -d 'How to print the changes' -r -f -a "human\t'For people'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l write -d 'Put the section into the README, between its markers or at its end'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -l check -d 'Fail if the README is not up to date; changes nothing'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand readme" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand status" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l config -d 'The same as PATH' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l env-file -d 'Take variables that are not in the environment from this file' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand status" -l format -d 'How to print it' -r -f -a "human\t'A table'
json\t'One JSON object'"
complete -c keyway -n "__fish_keyway_using_subcommand status" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand status" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand schema" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand schema" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand client-metadata" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand completions" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand completions" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand man" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand man" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand man" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand man" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand man" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand man" -s V -l version -d 'Print version'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l color -d 'When to use colour; otherwise as in `config.toml`, otherwise `auto`' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l events -d 'Add what changes to this file, as JSON lines' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l debug -d 'Write what happens to standard error: all of it, or what is about these topics' -r -f -a "config\t'Files, entries, variables and approvals'
oauth\t'Signing in and renewing'
helper\t'Headers helpers'
transport\t'Requests, connections and processes'"
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l debug-file -d 'Add that to this file instead' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -l out -d 'Where to write them' -r -F
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s q -l quiet -d 'Print errors only'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s v -l verbose -d 'Print notes as well'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c keyway -n "__fish_keyway_using_subcommand docs" -s V -l version -d 'Print version'
