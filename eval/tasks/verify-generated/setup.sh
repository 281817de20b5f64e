sh generate.sh
