# The DEBUG trap of a traced script; see tracing.py. Its lines become one, as LINENO counts those of a trap too.
# All in one array, as arrays are never exported: $?, $_, $!, the count, the offset, and then PIPESTATUS.
{ _workbench=("$?" "$_" "${!:-}" "$((${_workbench[3]:-0} + 1))" "" "${PIPESTATUS[@]}");
# How much was printed so far: where the output file stands, which the script's parent has as its own output.
IFS= \builtin read -r "_workbench[4]" < "/proc/$PPID/fdinfo/1" || \:;
{ \builtin printf "%s\037%s\037%s\037" "${_workbench[0]}" "${_workbench[2]}" "${_workbench[4]}";
\builtin printf "%s\037%s\037%s\037%s\037" "${EPOCHREALTIME:-}" "${#BASH_SOURCE[@]}" "${BASH_SOURCE[0]:-}" "$LINENO";
\builtin printf "%s " "${_workbench[@]:5}";
\builtin printf "\037%s\036" "${BASH_COMMAND:0:@COMMAND_LIMIT@}"; } >> @TRACE@ || \:;
# A function that is about to run passes the trap on to its own commands.
\builtin declare -ft -- "${BASH_COMMAND%%[[:space:]]*}" || \:;
[[ ${_workbench[3]} -lt @COMMANDS_LIMIT@ ]] || \builtin trap - DEBUG;
# The last argument of the last command is what $_ is next.
\: "${_workbench[1]}"; } 2> /dev/null || \:
