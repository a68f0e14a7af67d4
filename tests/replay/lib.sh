# shellcheck shell=bash
# For the replay tests: captures, what a checker says of an output, and that it finds what is wrong.

. tests/cli/lib.sh

# With the kernel's own text.
captures=(fixtures/*/trace.txt)
captures=("${captures[@]%/trace.txt}")
[ -z "${CAPTURES:-}" ] || read -ra captures <<<"$CAPTURES"
[ -d "${captures[0]}" ] || skip_all "no capture in fixtures/"

# is_other_page_size CAPTURE: it is there for how pages are read. What it has to say beyond that others have too.
is_other_page_size()
{
	case ${1##*/} in
	arm64* | ppc64el) true ;;
	*) false ;;
	esac
}

# thresholds CAPTURE: three in µs, none below the one that it was taken with
thresholds()
{
	local taken

	taken=$(cat "$1/tracing_thresh")
	printf '%d\n' "$taken" 134 1000 | sort -un | awk -v taken="$taken" '$1 >= taken'
}

# said NAME COMMAND...: ok with what the command says, or not ok with its first lines
said()
{
	local name=$1 text
	shift

	wanted "$name" || return 0
	if text=$("$@" 2>&1); then
		pass "$name${text:+: $text}"
	else
		fail "$name" "$(wc -l <<<"$text") things wrong"
		head -n 20 <<<"$text" | cut -c 1-300 | sed 's/^/  /'
	fi
}

# must_find NAME FILE SED-SCRIPT COMMAND...: the command has to find what the script does to FILE; it
# reads $scratch/tampered. Not in check, where the checkers are trusted.
must_find()
{
	local name=$1 file=$2 script=$3
	shift 3

	{ [ -z "${TRUST_CHECKERS:-}" ] && wanted "$name"; } || return 0
	sed -E "$script" "$file" >"$scratch/tampered"
	if cmp -s "$file" "$scratch/tampered"; then
		fail "$name" "nothing to tamper with"
	elif "$@" >"$out" 2>&1; then
		fail "$name" "not found"
	else
		pass "$name: $(head -n 1 "$out" | cut -c 1-100)"
	fi
}
