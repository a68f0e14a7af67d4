# shellcheck shell=bash
# For the command-line tests: run allocfilt and look at exit status, stdout and stderr.

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
err=$scratch/err out=$scratch/out

. tests/protocol.sh

# What the next case is to be run under: a list of words (setpriv, unshare, …).
under=()
program=$ALLOCFILT

# Makes `under` that of a user without rights, who may not be able to reach the tree.
as_nobody()
{
	chmod 755 "$scratch"
	[ -x "$scratch/allocfilt" ] || install -m 755 "$ALLOCFILT" "$scratch/allocfilt"
	under=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	program=$scratch/allocfilt
}

as_before()
{
	under=()
	program=$ALLOCFILT
}

run()
{
	status=0
	timeout -k 1 "${limit:-20}" "${under[@]}" "$program" "$@" \
		>"$out" 2>"$err" </dev/null || status=$?
}

# valid NAME FILE: what `-f json` wrote is as etc/allocfilt.schema.json has it
valid()
{
	local name=$1 text status=0

	wanted "$name" || return 0
	[ -x /usr/bin/python3 ] || { skip "$name" "python3 is not installed" && return; }
	text=$(tests/replay/schema.py "$2" 2>&1) || status=$?
	case $status in
	0) pass "$name: $text" ;;
	77) skip "$name" "$text" ;;
	*) fail "$name" "$(cut -c 1-300 <<<"$text")" ;;
	esac
}

# One line on stderr, that of this program, with each of the texts in it. Sets $why if not.
one_line()
{
	local text

	if [ "$(wc -l <"$err")" != 1 ]; then
		why="$(wc -l <"$err") lines on stderr"
		return 1
	fi
	grep -q '^allocfilt: ' "$err" || { why="a line without 'allocfilt: '"; return 1; }
	for text; do
		grep -qF -- "$text" "$err" || { why="no '$text' in: $(cat "$err")"; return 1; }
	done
}

# refused NAME STATUS "TEXT|TEXT…" ARGS...: that status, one line with the texts, no output
refused()
{
	local name=$1 expected=$2 texts=$3 why
	shift 3

	wanted "$name" || return 0
	IFS='|' read -r -a texts <<<"$texts"
	run "$@"
	if [ "$status" != "$expected" ]; then
		fail "$name" "exit status $status and not $expected"
	elif [ -s "$out" ]; then
		fail "$name" "$(wc -l <"$out") lines on stdout"
	elif ! one_line "${texts[@]}"; then
		fail "$name" "$why"
	else
		pass "$name"
	fi
}
