# What the scripts in tools/ share; they read this file with 'source' and are in the root of the
# tree then. A script that keeps its runs sets results, a file to which every run
# adds its line at once: the program's code, a key, what came out. A run whose line is
# there is not repeated, so a script that was cut goes on when it is started again, and
# other code starts anew in the same file.

die() { echo "tools/${0##*/}: $*" >&2; exit 2; }

need() {
	local program
	for program; do
		command -v "$program" >/dev/null || die "$program is missing; 'make deps' installs what is not of util-linux or Go (Debian)"
	done
}

# two_cpus ends the script where CPUs 0 and 1 cannot be had.
two_cpus() { taskset -c 0,1 true 2>/dev/null && (($(nproc) >= 2)) || die "needs CPUs 0 and 1"; }

# code_in names the program that the tree $1 builds by what it is built from.
code_in() {
	local from=(cmd internal go.mod go.sum ':!*_test.go')
	(cd "$1" && { git ls-files -s -- "${from[@]}" && git diff -- "${from[@]}"; } | sha1sum | cut -c1-10)
}

# compile NAME... builds tools/quietbench/NAME.c in $work.
compile() {
	local name
	for name; do gcc -O2 -Wall -Wextra -Werror -o "$work/$name" "tools/quietbench/$name.c" -lm; done
}

has() { grep -qsF "$code	$1	" "$results"; }
keep() {
	local IFS=$'\t'
	mkdir -p "$(dirname "$results")"
	echo "$code	$*" >>"$results"
}
# rows prints the lines of this code, without it.
rows() { { grep -sF "$code	" "$results" || true; } | cut -f2-; }

# slice_over: SLICE=SECONDS was given and has passed; the rest is for the next start.
slice_over() { ((${SLICE:-0} > 0 && SECONDS >= ${SLICE:-0})); }

# disturb LEVEL SEED has a program use 30 % of a CPU in bursts of 5 to 50 ms: of CPU 0 or
# of CPU 1 in turn with the seed (either), of CPU 0 (server), of each (both), or of none
# (none), until calm; 80 % of CPU 0 (loop80); 5 or 20 % of each at a real-time priority, which others
# must wait for as for a hypervisor that takes the CPU away (taken5, taken20); or has gcc compile a
# file on CPU 0 again and again (compiler). It ends by itself, too.
hogs=()
disturb() {
	local cpu cpus=() share=0.3 first=()
	case $1 in
	none) ;;
	either) cpus=($(($2 / 3 % 2))) ;;
	server | loop30) cpus=(0) ;;
	loop80) cpus=(0) share=0.8 ;;
	both) cpus=(0 1) ;;
	taken5 | taken20)
		cpus=(0 1) first=(chrt -f 50)
		share=$(awk -v p="${1#taken}" 'BEGIN { print p / 100 }')
		;;
	compiler)
		source_to_compile >"$work/beside.c"
		taskset -c 0 timeout 900 bash -c 'while gcc -O2 -c -o /dev/null "$0"; do :; done' "$work/beside.c" 2>>"$work/hogs" &
		hogs+=($!)
		;;
	*) die "no such noise: $1" ;;
	esac
	for cpu in "${cpus[@]}"; do
		"${first[@]}" "$work/hog" "$cpu" "$share" "$2" 900 2>>"$work/hogs" &
		hogs+=($!)
	done
}

# source_to_compile prints a C file whose compilation takes a second or so.
source_to_compile() {
	awk 'BEGIN {
		for (i = 0; i < 600; i++)
			printf "double f%d(double *x, int n) { double s = %d; for (int i = 1; i < n; i++) { if (x[i] > s) s += x[i - 1] * %d; else s -= x[i] / (1 + s * s); x[i] = s; } return s; }\n", i, i, i + 1
	}'
}
calm() {
	((${#hogs[@]} == 0)) || kill "${hogs[@]}" 2>/dev/null || true
	((${#hogs[@]} == 0)) || wait "${hogs[@]}" 2>/dev/null || true
	hogs=()
}

# since prints the seconds that have passed since $1, a value of EPOCHREALTIME.
since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

# machine prints where it was measured.
machine() {
	printf '%s, %s, %d CPUs, Linux %s, %s' "$(date +%F)" "$(lscpu | sed -n 's/^Model name: *//p')" "$(nproc)" "$(uname -r)" "$(go env GOVERSION)"
}

# put_section PAGE START FILE replaces what stands in PAGE between the line that begins
# with START and the next line '<!-- end -->'.
put_section() {
	grep -q "^$2" "$1" || die "$1 has no line that begins with '$2'"
	awk -v start="$2" -v file="$3" '
		index($0, start) == 1 { print; while ((getline line < file) > 0) print line; skip = 1; next }
		/^<!-- end -->/ { skip = 0 }
		!skip' "$1" >"$1.new"
	mv "$1.new" "$1"
}
