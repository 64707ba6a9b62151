echo "no interpreter $0 ${BASH_ENV-unset}"
false
