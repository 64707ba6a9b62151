#!/bin/bash
ulimit -f 4
ulimit -n 20
echo limited
head -c 4000 /dev/zero > /app/zeros
