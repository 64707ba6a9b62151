#!/usr/local/bin/no-such-bash
echo never
