#!/bin/bash
(cd /app && sleep 62) &
disown
sleep 63 &
nohup sleep 64 > /dev/null 2>&1 &
