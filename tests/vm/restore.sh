# shellcheck shell=sh
# Helpers of the tests of issue "leave tracing as it was": . /restore.sh

# shellcheck source=tests/vm/guest.sh
. /guest.sh

# remember: what every same() compares with.
remember()
{
	fingerprint >/tmp/before
}

differences()
{
	fingerprint >/tmp/after
	cmp -s /tmp/before /tmp/after && return
	diff -U 2 /tmp/before /tmp/after | sed -n '3,$s/^/    /p' | head -n 12 >&2
	diff -U 0 /tmp/before /tmp/after | sed -n '4p'
}

# same NAME: the case passes if the tracing directory is as it was and no undo file is left.
same()
{
	_difference=$(differences)
	if [ -n "$_difference" ]; then
		fail "$1" "$_difference"
	elif [ -e /run/allocfilt/undo ]; then
		fail "$1" "an undo file is left"
	else
		pass "$1"
	fi
}

# remember_all, same_all NAME: once in a script, as it takes seconds; every file
remember_all()
{
	fingerprint -a >/tmp/before.all
}

same_all()
{
	fingerprint -a >/tmp/after.all
	if cmp -s /tmp/before.all /tmp/after.all; then
		pass "$1: $(wc -l </tmp/after.all) files"
	else
		fail "$1" "$(diff -U 0 /tmp/before.all /tmp/after.all | sed -n '4p')"
	fi
}

# check NAME COMMAND...: the case passes if the command succeeds.
check()
{
	_name=$1
	shift
	if "$@"; then
		pass "$_name"
	else
		fail "$_name" "$* ($(tail -n 1 /tmp/err | cut -c 1-200))"
	fi
}

# run [-o FILE] STATUS ARGS...: to its end; the status has to be STATUS. Leaves /tmp/err.
run()
{
	_out=/tmp/out
	if [ "$1" = -o ]; then
		_out=$2
		shift 2
	fi
	_expected=$1
	shift
	_status=0
	# SIGTERM would only be one more way to end well.
	timeout -s KILL 300 allocfilt "$@" >"$_out" 2>/tmp/err || _status=$?
	[ "$_status" = "$_expected" ] && return
	echo "    allocfilt $*: status $_status, not $_expected: $(tail -n 1 /tmp/err)" >&2
	return 1
}

is_ready()
{
	grep -q 'Ctrl-C ends it' /tmp/err || ! kill -0 "$pid" 2>/dev/null
}

# start ARGS...: in the background, until tracing is on; sets $pid.
start()
{
	: >/tmp/err
	allocfilt "$@" >/tmp/out 2>/tmp/err &
	pid=$!
	wait_for 200 is_ready && kill -0 "$pid" 2>/dev/null
}

# start_service ARGS...: the same with --journal; a socket takes journald's place.
start_service()
{
	: >/tmp/err
	unread 0 journal allocfilt --journal "$@" >/tmp/out 2>/tmp/err &
	pid=$!
	wait_for 200 is_ready && kill -0 "$pid" 2>/dev/null
}

# ends STATUS: waits for what start() started; its status has to be STATUS.
ends()
{
	_status=0
	wait "$pid" 2>/dev/null || _status=$?
	[ "$_status" = "$1" ] && return
	echo "    status $_status, not $1: $(tail -n 1 /tmp/err)" >&2
	return 1
}

said()
{
	grep -q "$1" /tmp/err
}

# uses_instance: are our buffers in a private instance on this kernel?
uses_instance()
{
	[ -e "$TRACING/buffer_subbuf_size_kb" ] || return 1
	_probe=$TRACING/instances/probe
	mkdir "$_probe" || return 1
	grep -q function_graph "$_probe/available_tracers"
	_uses=$?
	rmdir "$_probe"
	return "$_uses"
}

value()
{
	head -n 1 "$TRACING/$1"
}

# random N: 0 ... N-1
random()
{
	echo $(($(hexdump -n 4 -e '"%u"' /dev/urandom) % $1))
}

# ---- ways to end, of any run ----

# What the cases below start, in the shell's words; a script may set another.
RUN='-t 134'

by_signal()
{
	# shellcheck disable=SC2086 # words
	check "starts-before-$1" start $RUN
	kill -"$1" "$pid"
	check "exit-status-after-$1" ends "$2"
	same "same-after-$1"
}

# by_fatal_signal SIGNAL [SUFFIX]: nothing is put back in a handler of these, but by the guardian
by_fatal_signal()
{
	# shellcheck disable=SC2086 # words
	check "starts-before-$1$2" start $RUN
	_guardian=$(guardian_of "$pid")
	kill -"$1" "$pid"
	wait "$pid" 2>/dev/null
	check "guardian-ends-after-$1$2" wait_for 60 eval "! kill -0 $_guardian 2>/dev/null"
	check "guardian-says-so-after-$1$2" said "process $pid was killed"
	same "same-after-$1$2"
}

# by_kill_of_both: with nobody left, --restore puts all back
by_kill_of_both()
{
	# shellcheck disable=SC2086 # words
	check starts-before-kill-of-both start $RUN
	kill_both "$pid"
	wait "$pid" 2>/dev/null
	check changed-after-kill-of-both [ -s /run/allocfilt/undo ]
	check restore-after-kill-of-both run 0 --restore
	same same-after-kill-of-both-and-restore
}

# into ARGS COMMAND...: starts a run with ARGS, in words, whose output a command reads; its status in
# /tmp/status
into()
{
	_args=$1
	shift
	rm -f /tmp/status
	: >/tmp/err
	{
		# shellcheck disable=SC2086 # words
		timeout -s KILL 300 allocfilt $_args 2>/tmp/err
		echo $? >/tmp/status
	} | "$@" >/tmp/line &
}

# is_at_step N: that many are told, or it has ended
is_at_step()
{
	[ "$(grep -c ' us: ' /tmp/err)" -ge "$1" ] || ! kill -0 "$pid" 2>/dev/null
}

# kill_in_set_up MICROSECONDS [STEP], kill_in_tear_down MICROSECONDS: SIGKILL, also of the guardian,
# so long after its begin, or after that step; sets $steps
kill_in_set_up()
{
	: >/tmp/err
	# shellcheck disable=SC2086 # words
	allocfilt $RUN -v >/tmp/out 2>/tmp/err &
	pid=$!
	until is_at_step "${2:-0}"; do :; done
	usleep "$1"
	kill_both "$pid"
	wait "$pid" 2>/dev/null
	steps=$(grep -c ' us: ' /tmp/err)
}

kill_in_tear_down()
{
	# shellcheck disable=SC2086 # words
	start $RUN -v || echo "    did not start: $(tail -n 1 /tmp/err)" >&2
	before=$(wc -l </tmp/err)
	kill -INT "$pid"
	usleep "$1"
	kill_both "$pid"
	wait "$pid" 2>/dev/null
	# shellcheck disable=SC2034 # for the scripts that source this
	steps=$(($(wc -l </tmp/err) - before))
}

# How long set-up and tear-down take here, in microseconds.
length_of()
{
	awk -v what="$1" '/ us: / { back = / back$/; if (back == (what == "end")) sum += $2 }
		END { print int(sum) + 1 }' /tmp/err
}

# reset_during_run: by trace-cmd, as somebody else's wish
reset_during_run()
{
	# shellcheck disable=SC2086 # words
	check starts-before-reset start $RUN
	_buffers=$(our_dir)
	trace-cmd reset >/dev/null 2>&1
	if [ "$_buffers" = "$INSTANCE" ]; then
		case $RUN in
		account*) sleep 3 ;;
		*) check reset-of-the-probe-is-told wait_for 200 said 'no names from now on' ;;
		esac
		check instance-outlives-a-reset kill -0 "$pid"
		trace-cmd reset -a >/dev/null 2>&1
	fi
	wait_for 200 eval "! kill -0 $pid 2>/dev/null" || kill -KILL "$pid"
	check reset-ends-the-run ends 4
	check reset-is-told said 'ours was'
	# Reset is somebody's wish: what it set is theirs now.
	trace-cmd reset >/dev/null 2>&1
	check restore-after-reset run 0 --restore
	check no-instance-after-reset [ ! -d "$INSTANCE" ]
	check tracer-after-reset [ "$(value current_tracer)" = nop ]
	check threshold-after-reset [ "$(value tracing_thresh)" = 0 ]
	echo 1 >"$TRACING/tracing_on"
	same same-after-reset
}
