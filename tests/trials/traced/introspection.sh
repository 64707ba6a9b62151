#!/bin/bash
f() { :; }
f
declare -F
declare -p BASH_ENV 2>&1
set | grep -v -E '^(BASHPID|PPID|RANDOM|SRANDOM|SECONDS|EPOCH|_=|BASH_VERS|PIPESTATUS|HOSTNAME)' | sort
compgen -v | wc -l
env | sort
export -p
