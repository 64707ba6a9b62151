#!/bin/bash
printf 'no newline at the end'
exit 1