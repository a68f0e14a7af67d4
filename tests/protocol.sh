# shellcheck shell=sh
# What a test says to tests/run, for bash and for the shells of guests: . tests/protocol.sh, or, in a
# guest, /guest.sh. Each case is told by pass(), fail() or skip(), and the script ends by done_testing().
#
# Cases are counted in a file: a subshell counts, too.

cases=${scratch:-/tmp}/cases
: >"$cases"

# wanted NAME: is the case among those that were asked for, by the pattern $CASE?
wanted()
{
	# shellcheck disable=SC2254 # a pattern
	case $1 in
	${CASE:-*} | ${CASE:-*}:*) ;;
	*) return 1 ;;
	esac
}

pass()
{
	wanted "$1" || return 0
	printf . >>"$cases"
	echo "ok $1"
}

# fail NAME REASON: and what is in the file $err, if there is one
fail()
{
	wanted "$1" || return 0
	printf . >>"$cases"
	echo "not ok $1: $2"
	[ ! -s "${err:-}" ] || sed 's/^/  stderr: /' "$err" | head -n 5
}

# skip NAME REASON: one case
skip()
{
	wanted "$1" || return 0
	printf . >>"$cases"
	echo "skip $1: $2"
}

# skip_all REASON: the whole script, before its first case
skip_all()
{
	echo "SKIP: $*"
	exit 77
}

# cases_of NAME COMMAND...: COMMAND tells cases by itself; case NAME fails if COMMAND does
cases_of()
{
	_cases_of=$1
	shift
	"$@" >"$cases.of" || fail "$_cases_of" "exit status $?"
	cat "$cases.of"
	grep -E '^(not ok|ok|skip) ' "$cases.of" | while read -r _; do
		printf . >>"$cases"
	done
}

# done_testing: the plan, "1..N"; nothing comes after it
done_testing()
{
	[ ! -s "$cases.unknown" ] || fail no-such-command "$(sort -u "$cases.unknown" | tr '\n' ' ')"
	echo "1..$(wc -c <"$cases")"
}

# Bash calls this; for other shells tests/run looks at what they say.
# shellcheck disable=SC2317
command_not_found_handle()
{
	echo "$1" >>"$cases.unknown"
	echo "$1: command not found" >&2
	return 127
}
