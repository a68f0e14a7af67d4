# shellcheck shell=bash
# Debian's archives as this machine's own apt sources name them: . tests/vm/archive.sh

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Print the address of the Debian archive with the given label.
archive_site()
{
	# shellcheck disable=SC2016 # for apt to expand
	apt-get indextargets --format '$(LABEL)|$(SITE)' 'Origin: Debian' 'Created-By: Packages' \
		2>/dev/null | awk -F'|' -v label="$1" '$1 == label { print $2; exit }'
}

# archive_sources SUITE...: the lines of a sources.list; fails where this machine has no archive.
archive_sources()
{
	local suite main security by=

	main=$(archive_site Debian)
	[ -n "$main" ] || return 1
	security=$(archive_site Debian-Security)
	[ -n "$security" ] || security=${main%/}-security
	[ -r "$keyring" ] && by="[signed-by=$keyring] "

	for suite; do
		case $suite in
		*-security) echo "deb $by$security $suite main" ;;
		*) echo "deb $by$main $suite main" ;;
		esac
	done
}

# apt with lists, cache and status of its own in $work, so that neither root nor the machine is
# needed, and of the architecture $arch.
# shellcheck disable=SC2154 # both are of those who source this
own_apt()
{
	local tool=$1
	shift
	"$tool" -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- \
		-o Dir::State="$work/state" -o Dir::State::Lists="$work/state/lists" \
		-o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" \
		-o APT::Sandbox::User= -o APT::Update::Error-Mode=any \
		-o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# own_lists SUITE...: for own_apt; fails where this machine has no archive.
own_lists()
{
	mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
	: >"$work/status"
	archive_sources "$@" >"$work/sources.list" || return 1
	# One suite of two may be out of order for a while: what matters is that a package is found.
	own_apt apt-get update >"$work/log" 2>&1 || true
}
