# shellcheck shell=sh
# Helpers for scripts that run inside the virtual machine: . /guest.sh

# shellcheck source=tests/protocol.sh
. /protocol.sh

# shellcheck disable=SC2034 # for the scripts that source this
TRACING=/sys/kernel/tracing
INSTANCE=$TRACING/instances/allocfilt
PRESSURE_PIDS=

# Scripts and what they start come last for the OOM killer, `pressure` first: an OOM kill of the
# program under test says nothing of it. Not -1000: with nobody left to kill the kernel panics.
echo -900 >/proc/$$/oom_score_adj

die()
{
	echo "FAIL: $*"
	exit 1
}

# seconds: since boot
seconds()
{
	cut -d . -f 1 /proc/uptime
}

# wait_for SECONDS COMMAND...: until it succeeds; false when time is up.
wait_for()
{
	_until=$(($(seconds) + $1))
	shift
	until "$@"; do
		[ "$(seconds)" -lt "$_until" ] || return 1
		usleep 100000
	done
}

# guardian_of PID: the child that restores tracing when PID is killed
guardian_of()
{
	for _stat in /proc/[0-9]*/stat; do
		{ read -r _child _comm _ _parent _ <"$_stat"; } 2>/dev/null || continue
		[ "$_comm $_parent" != "(tracing-guard) $1" ] || echo "$_child"
	done
}

# kill_both PID: with its guardian, which takes no part, as the run is stopped first
kill_both()
{
	kill -STOP "$1" 2>/dev/null
	# shellcheck disable=SC2046 # a list
	kill -KILL $(guardian_of "$1") "$1" 2>/dev/null
}

# our_dir: where allocfilt traces
our_dir()
{
	if [ -d "$INSTANCE" ]; then
		echo "$INSTANCE"
	else
		echo "$TRACING"
	fi
}

# kernel_text NAME: the kernel's text of what is in our buffers now, which stays in them
kernel_text()
{
	_dir=$(our_dir)
	_options=$_dir/options
	[ -e "$_options/funcgraph-abstime" ] || _options=$TRACING/options
	echo 0 >"$_dir/tracing_on"
	echo 1 >"$_options/funcgraph-abstime"
	echo 1 >"$_options/funcgraph-proc"
	cat "$_dir/trace" >"/out/$1.txt"
	cat "$_dir/set_ftrace_filter" >"/out/$1.filter"
	echo 0 >"$_options/funcgraph-abstime"
	echo 0 >"$_options/funcgraph-proc"
	echo 1 >"$_dir/tracing_on"
}

_pressure()
{
	"$@" &
	PRESSURE_PIDS="$PRESSURE_PIDS $!"
}

_huge_pages()
{
	while :; do
		echo 40 >/proc/sys/vm/nr_hugepages
		echo 1 >/proc/sys/vm/compact_memory
		usleep 300000
		echo 0 >/proc/sys/vm/nr_hugepages
		usleep 300000
	done
}

# Tasks that come and go.
_spawn()
{
	while :; do
		sort /etc/passwd >/dev/null
		usleep 50000
	done
}

_drop_caches()
{
	while :; do
		sleep 2
		echo 2 >/proc/sys/vm/drop_caches
	done
}

# pressure_start [WHAT...]; without arguments memory and files.
#   memory	two tasks that want 45 % of memory each, in huge pages
#   some	one that wants 35 %
#   hold	one that takes all but 14 MiB and keeps it
#   files	files written and read back on both disks
#   huge	pages for nr_hugepages, and compaction by hand
#   slab	drop_caches every two seconds
#   cgroup	files again, in a cgroup of 16 MiB
#   spawn	short-lived tasks
pressure_start()
{
	[ $# -gt 0 ] || set -- memory files
	for _what; do
		case $_what in
		memory)
			_pressure pressure memory 45
			_pressure pressure memory 45
			;;
		some) _pressure pressure memory 35 ;;
		hold) _pressure pressure hold 14 ;;
		files)
			_pressure pressure files /mnt/a/pressure
			_pressure pressure files /mnt/b/pressure
			;;
		huge) _pressure _huge_pages ;;
		spawn) _pressure _spawn ;;
		slab) _pressure _drop_caches ;;
		cgroup)
			cgroup_make /sys/fs/cgroup/pressure 16
			cgroup_run /sys/fs/cgroup/pressure pressure files /mnt/a/cgroup &
			PRESSURE_PIDS="$PRESSURE_PIDS $!"
			;;
		*) die "pressure_start: $_what" ;;
		esac
	done
}

pressure_stop()
{
	# shellcheck disable=SC2086 # a list of words
	[ -z "$PRESSURE_PIDS" ] || kill -9 $PRESSURE_PIDS 2>/dev/null
	# shellcheck disable=SC2086
	wait $PRESSURE_PIDS 2>/dev/null
	PRESSURE_PIDS=
	echo 0 >/proc/sys/vm/nr_hugepages
}

# How often tasks had to reclaim by themselves since boot.
direct_reclaims()
{
	awk '/^allocstall/ { sum += $2 } END { print sum + 0 }' /proc/vmstat
}

_reclaimed_since()
{
	[ $(($(direct_reclaims) - $1)) -ge 20 ]
}

# pressure_lasts SECONDS: that long, and on until tasks had to reclaim by themselves: on a busy
# machine it takes the emulator its time.
pressure_lasts()
{
	_reclaims=$(direct_reclaims)
	sleep "$1"
	wait_for 60 _reclaimed_since "$_reclaims" || true
}

# cgroup_make DIR MIB: a cgroup with that memory.max.
cgroup_make()
{
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p "$1"
	echo "$2M" >"$1/memory.max"
}

# cgroup_run DIR COMMAND...: in the cgroup; replaces the (sub)shell that calls it.
cgroup_run()
{
	_cgroup=$1
	shift
	exec sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$_cgroup" "$@"
}
