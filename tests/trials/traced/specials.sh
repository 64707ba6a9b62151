#!/bin/bash
echo one two three > /dev/null
echo "last argument: $_"
true | (exit 4) | false
echo "parts: ${PIPESTATUS[*]} then $?"
! true
echo "negated: $? ${PIPESTATUS[*]} $_"
x=$(exit 5)
echo "assigned: $?"
if [ -e /nowhere ]; then :; fi
echo "untaken: $? ${PIPESTATUS[*]}"
while read -r line; do echo "read $line"; done < /etc/hostname
echo "loop: $?"
echo "flags $- options $SHELLOPTS $BASHOPTS"
echo "$0 $# $BASH_SUBSHELL ${BASH_SOURCE[*]} ${FUNCNAME[*]}"
: | : | :
echo "$LINENO ${#PIPESTATUS[@]}"
