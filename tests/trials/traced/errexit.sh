#!/bin/bash -eu
set -o pipefail
echo before
if false; then echo no; fi
false || echo "or $?"
! true
echo "not $?"
false | true || echo "pipe $?"
grep nothing /etc/hostname
echo never
