#!/bin/bash
exec 3>&1 > /app/log.txt 2>&1
echo to the log
echo to the screen >&3
ls /nowhere
exec 10> /app/ten.txt; echo ten >&10; exec 10>&-
exec {fd}> /app/fd.txt; echo "$fd" >&"$fd"
ls -l /proc/self/fd | awk '{print $9, ($11 ~ /pipe|socket/ ? "pipe" : $11)}' | grep -v /proc/ >&3
exec >&3 3>&-
exec > >(sed 's/^/> /')
echo through sed
exec > /dev/null
wait $!
