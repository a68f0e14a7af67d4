# shellcheck shell=sh
# For live runs inside the virtual machine: . /live.sh

. /guest.sh

ready()
{
	grep -q "Ctrl-C ends it" "/out/$1.err" 2>/dev/null
}

# start NAME ARGS...: in the background; sets $pid
start()
{
	name=$1
	shift
	allocfilt "$@" >"/out/$name.dat" 2>"/out/$name.err" &
	pid=$!
	wait_for 200 ready "$name" || {
		fail "$name-starts" "$(tail -n 1 "/out/$name.err")"
		kill -9 "$pid"
		return 1
	}
}

# ended NAME EXPECTED_STATUS
ended()
{
	status=0
	wait "$pid" || status=$?
	if [ "$status" = "$2" ]; then
		pass "$1-exit-status"
	else
		fail "$1-exit-status" "$status and not $2: $(tail -n 1 "/out/$1.err")"
	fi
}

# yes NAME STATUS_OF_A_CONDITION [WORDS]
yes()
{
	if [ "$2" = 0 ]; then pass "$1"; else fail "$1" "${3:-}"; fi
}

# lines DIR: sets $read to the lines of data, and $status
lines()
{
	# shellcheck disable=SC2034 # for the scripts
	read=$({
		allocfilt -q --summary=none -s "$1" 2>/tmp/lines.err
		echo $? >/tmp/lines.status
	} | wc -l)
	status=$(cat /tmp/lines.status)
}

# whole DIR: as many records as the kernel says that were read. What a busy machine lost is no fault of
# ours.
whole()
{
	allocfilt --verify="$1" >/tmp/verify 2>/dev/null
	grep -q '^read cpu0 [1-9]' "$1/capture" &&
		tail -n 1 /tmp/verify | sed -E 's/[0-9]+ (lost records?|loss(es)? of an unknown number of records)(, )?//g' |
		grep -qE ': clean: |: not clean: $'
}

pressure_of_all_sorts()
{
	pressure_start files cgroup spawn memory
	pressure_lasts "$1"
	pressure_stop
	pressure_start some
	for _ in 1 2 3; do
		echo 1 >/proc/sys/vm/compact_memory
		echo 30 >/proc/sys/vm/nr_hugepages
		echo 2 >/proc/sys/vm/drop_caches
		usleep 200000
	done
	pressure_stop
}

# pressure_until NAME PATTERN...: until the output has them all
pressure_until()
{
	_output=/out/$1.dat
	shift
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		pressure_of_all_sorts 4
		_left=
		for _pattern; do
			grep -q "$_pattern" "$_output" || _left=yes
		done
		[ -n "$_left" ] || break
	done
}
