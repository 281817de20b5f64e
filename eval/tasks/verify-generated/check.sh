grep -qx 'teal #008080' colours.txt
cp colours.css kept.css
sh generate.sh
cmp colours.css kept.css
rm kept.css
