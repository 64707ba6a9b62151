#!/bin/bash
echo a; (exit 3); echo "$?"
sh -c 'exit 4'; echo "$?"
no-such-command; echo "$?"
kill -TERM $$ 2> /dev/null & wait
sleep 5
exit 7
