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
		echo "not ok $1: $_difference"
	elif [ -e /run/allocfilt/undo ]; then
		echo "not ok $1: an undo file is left"
	else
		echo "ok $1"
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
		echo "ok $1: $(wc -l </tmp/after.all) files"
	else
		echo "not ok $1: $(diff -U 0 /tmp/before.all /tmp/after.all | sed -n '4p')"
	fi
}

# check NAME COMMAND...: the case passes if the command succeeds.
check()
{
	_name=$1
	shift
	if "$@"; then
		echo "ok $_name"
	else
		echo "not ok $_name: $* ($(tail -n 1 /tmp/err | cut -c 1-200))"
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

# random N: 0 ... N-1
random()
{
	echo $(($(hexdump -n 4 -e '"%u"' /dev/urandom) % $1))
}
