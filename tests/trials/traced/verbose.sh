#!/bin/bash
set -v
echo shown
set +v
echo not shown
