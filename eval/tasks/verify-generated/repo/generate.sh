#!/bin/sh
# Makes colours.css from colours.txt.
{
    echo "/* made by generate.sh from $(cksum < colours.txt | cut -d ' ' -f 1) */"
    while read -r name value; do
        echo ".$name { color: $value; }"
    done < colours.txt
} > colours.css
