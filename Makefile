# SPDX-License-Identifier: GPL-2.0-or-later
#
# make             build/allocfilt
# make check-unit  the loop of daily work: tests without network, root or VM, which install nothing
# make check       what has to pass before a change goes in; installs what it needs (root), boots VMs
# make check-all   all tests there are, for a release
# make try         allocfilt on a real kernel in a VM: KERNEL=5.10|6.1|6.12|newest|arm64 ARGS="-t 134"
# make bench       what a record of a large capture costs, against goals; RECORDS=1000000 for a quick look
# make fuzz        the parsers as targets of libFuzzer, in build-fuzz; see tests/fuzz/fuzz.test
# make demo        the same with an explanation of what is seen
# make install     PREFIX, DESTDIR; nothing is started
# make uninstall   with the same PREFIX and DESTDIR
# make sample      doc/sample.html, the page of a capture
# make dist        the sources of a release, in build/; the same bytes wherever it is made
# make deb         a Debian package of these sources and of debian/, in build/
# SAN=address,undefined, CC=clang, WERROR=1, V=1

VERSION := 0.1.0

PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/allocfilt
DOCDIR ?= $(PREFIX)/share/doc/allocfilt
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

PKG_CONFIG ?= pkg-config
BUILD ?= build$(if $(SAN),-san)

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wundef -Wvla -Wformat=2 -Wold-style-definition -Wcast-qual \
	-Wno-missing-field-initializers $(if $(WERROR),-Werror)
HARDENING := -fstack-protector-strong $(if $(SAN),,-D_FORTIFY_SOURCE=2)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)

# Given on the command line of make, as for another architecture: pkg-config is not asked.
ifeq ($(origin LIB_LIBS),command line)
CODECS := $(if $(filter -lzstd,$(LIB_LIBS)),libzstd) $(if $(filter -lz,$(LIB_LIBS)),zlib)
else
ifeq ($(filter clean check check-all demo uninstall dist deb,$(MAKECMDGOALS)),)
# NAME VERSION DEBIAN-PACKAGE
define need
ifneq ($$(shell command -v $(PKG_CONFIG) >/dev/null && echo yes),yes)
$$(error pkg-config is missing: apt-get install pkg-config)
endif
ifneq ($$(shell $(PKG_CONFIG) --atleast-version=$(2) $(1) && echo yes),yes)
$$(error $(1) $(2) or later is missing: apt-get install $(3))
endif
endef
$(eval $(call need,libtracefs,1.6,libtracefs-dev))
$(eval $(call need,libtraceevent,1.7,libtraceevent-dev))
endif

LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags libtracefs libtraceevent 2>/dev/null)
LIB_LIBS := $(shell $(PKG_CONFIG) --libs libtracefs libtraceevent 2>/dev/null)

# For -r of a trace.dat that is compressed: either may be missing.
CODECS := $(shell for codec in libzstd zlib; do \
	$(PKG_CONFIG) --exists $$codec 2>/dev/null && echo $$codec; done)
ifneq ($(CODECS),)
LIB_CFLAGS += $(shell $(PKG_CONFIG) --cflags $(CODECS))
LIB_LIBS += $(shell $(PKG_CONFIG) --libs $(CODECS))
endif
LIB_VERSIONS := $(foreach lib,libtracefs libtraceevent $(CODECS), \
	$(lib)-$(shell $(PKG_CONFIG) --modversion $(lib) 2>/dev/null))
endif

ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(HARDENING) $(SANITIZE) -Iinclude -Isrc -D_GNU_SOURCE \
	-D_FILE_OFFSET_BITS=64 -DALLOCFILT_VERSION='"$(VERSION)"' \
	$(patsubst -I%,-isystem %,$(LIB_CFLAGS)) -ffile-prefix-map=$(CURDIR)=. $(CFLAGS) $(CPPFLAGS)
ALL_LDFLAGS = $(SANITIZE) -Wl,-z,relro,-z,now $(LDFLAGS)

SOURCES := $(sort $(wildcard src/*.c src/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
STAGES := $(filter-out $(BUILD)/src/main.o,$(OBJECTS))
UNIT_SOURCES := $(sort $(wildcard tests/unit/*_test.c))
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)
FUZZ_TARGETS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/*.c)))

UNIT := $(UNITDIR)/allocfilt.service
COMPLETION := $(COMPLETIONDIR)/allocfilt
MAN_PAGES := $(sort $(wildcard man/*.[1-8]))
man_path = $(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
CATALOG := $(wildcard systemd/allocfilt.catalog)
CONF := $(wildcard etc/allocfilt.conf)
DOCS := README.md NEWS $(sort $(wildcard doc/*))
# below etc/ here, below $(DATADIR) there
DATA := allocfilt.schema.json grafana/allocfilt.json prometheus/allocfilt.rules.yml
DIST := allocfilt-$(VERSION)

Q := $(if $(V),,@)

all: $(BUILD)/allocfilt

$(BUILD)/allocfilt: $(OBJECTS)
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS)

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The web page of -f html, as strings: between them the program puts the summary as text and the data. Its
# policy has the hashes of the style and of the script.
REPORT := $(BUILD)/include/output/report.inc
report_hash = $$(env printf "$$({ echo; cat etc/report/page.$(1); } | sha256sum | \
	sed 's/ .*//; s/../\\x&/g')" | base64)

$(REPORT): etc/report/page.html etc/report/page.css etc/report/page.js Makefile
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	$(Q)css="$(call report_hash,css)" js="$(call report_hash,js)" && \
	sed -e "s,@CSS-HASH@,$$css,; s,@JS-HASH@,$$js," -e '/^@CSS@$$/{r etc/report/page.css' -e 'd}' \
		-e '/^@JS@$$/{r etc/report/page.js' -e 'd}' etc/report/page.html | \
	sed -e '/^@TEXT@$$\|^@DATA@$$/{s/.*/,/;b}' -e 's/[\\"]/\\&/g; s/.*/"&\\n"/' >$@

$(BUILD)/src/output/html.o: ALL_CFLAGS += -I$(BUILD)/include
$(BUILD)/src/output/html.o: $(REPORT)

# These are compiled again when a codec has come or gone.
WITH_CODECS := $(if $(filter libzstd,$(CODECS)),-DHAVE_ZSTD) $(if $(filter zlib,$(CODECS)),-DHAVE_ZLIB)
CODECS_SEEN := $(BUILD)/codecs$(subst $() $(),,$(WITH_CODECS))
$(BUILD)/src/capture/chunks.o: ALL_CFLAGS += $(WITH_CODECS)
$(BUILD)/src/main.o: ALL_CFLAGS += -DBUILT_WITH='"$(strip $(or $(LIB_VERSIONS),$(CODECS)))"'
$(BUILD)/src/capture/chunks.o $(BUILD)/src/main.o: $(CODECS_SEEN)
$(CODECS_SEEN):
	@mkdir -p $(@D) && rm -f $(BUILD)/codecs* && touch $@

$(BUILD)/liballocfilt.a: $(STAGES)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/liballocfilt.a
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS) -lcmocka

# libFuzzer is clang's alone. It brings main().
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/liballocfilt.a
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIB_LIBS)

$(BUILD)/tests/bench/%: tests/bench/%.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_LIBS)

-include $(OBJECTS:.o=.d) $(UNIT_TESTS:%=%.d) $(FUZZ_TARGETS:%=%.d)

# tests/run runs what is in the build: not a test that was renamed.
unit-tests: $(UNIT_TESTS)
	$(Q)rm -f $(filter-out $(UNIT_TESTS),$(wildcard $(BUILD)/tests/unit/*_test))

fuzz-targets: $(FUZZ_TARGETS)

fuzz:
	$(Q)$(MAKE) --no-print-directory CC=clang SAN=address,undefined,fuzzer-no-link \
		CFLAGS="-O1 -g" BUILD=build-fuzz fuzz-targets

check-unit: all unit-tests
	$(Q)BUILD=$(BUILD) tests/run unit

check:
	$(Q)tests/run check

check-all:
	$(Q)tests/run all

KERNEL ?= 6.1
ARGS ?= -t 134 -f tree
try: all
	$(Q)tests/vm/run -k $(KERNEL) -t 600 -p $(BUILD)/allocfilt tests/try.guest $(ARGS)

bench: all
	$(Q)BUILD=$(BUILD) tests/bench/replay $(RECORDS)

demo:
	$(Q)tests/demo

sample: all
	$(Q)$(BUILD)/allocfilt -q -s fixtures/short -t 134 -f html -o doc/sample.html

# Nothing is enabled or started, and systemd is told nothing. A configuration that is there already is
# somebody's own.
install: all
	install -D -m 755 $(BUILD)/allocfilt $(DESTDIR)$(SBINDIR)/allocfilt
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@SBINDIR@,$(SBINDIR),' systemd/allocfilt.service >$(DESTDIR)$(UNIT)
	chmod 644 $(DESTDIR)$(UNIT)
	install -D -m 644 etc/allocfilt.bash-completion $(DESTDIR)$(COMPLETION)
	install -D -m 644 etc/allocfilt.zsh-completion $(DESTDIR)$(ZSHDIR)/_allocfilt
	install -D -m 644 etc/allocfilt.fish-completion $(DESTDIR)$(FISHDIR)/allocfilt.fish
	$(foreach file,$(DATA),install -D -m 644 etc/$(file) $(DESTDIR)$(DATADIR)/$(file) && ):
	$(foreach page,$(MAN_PAGES),install -D -m 644 $(page) $(DESTDIR)$(call man_path,$(page)) && ):
	$(foreach file,$(DOCS),install -D -m 644 $(file) $(DESTDIR)$(DOCDIR)/$(file) && ):
	$(if $(CATALOG),install -D -m 644 $(CATALOG) $(DESTDIR)$(CATALOGDIR)/$(notdir $(CATALOG)))
	$(if $(CONF),[ -e $(DESTDIR)$(SYSCONFDIR)/allocfilt.conf ] || \
		install -D -m 644 $(CONF) $(DESTDIR)$(SYSCONFDIR)/allocfilt.conf)
	$(if $(DESTDIR),,@echo "For the service: systemctl daemon-reload && journalctl --update-catalog")

# The configuration goes only as it came.
uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/allocfilt $(DESTDIR)$(UNIT) $(DESTDIR)$(COMPLETION) \
		$(foreach page,$(MAN_PAGES),$(DESTDIR)$(call man_path,$(page))) \
		$(DATA:%=$(DESTDIR)$(DATADIR)/%) $(DOCS:%=$(DESTDIR)$(DOCDIR)/%) \
		$(DESTDIR)$(ZSHDIR)/_allocfilt $(DESTDIR)$(FISHDIR)/allocfilt.fish \
		$(if $(CATALOG),$(DESTDIR)$(CATALOGDIR)/$(notdir $(CATALOG)))
	for dir in $(DATADIR)/grafana $(DATADIR)/prometheus $(DATADIR) $(DOCDIR)/doc $(DOCDIR); do \
		dir=$(DESTDIR)$$dir; [ ! -d $$dir ] || rmdir --ignore-fail-on-non-empty $$dir || exit; done
	$(if $(CONF),! cmp -s $(CONF) $(DESTDIR)$(SYSCONFDIR)/allocfilt.conf || \
		rm $(DESTDIR)$(SYSCONFDIR)/allocfilt.conf)

# All files have the time of the last commit; without git, in an archive unpacked, that of Makefile.
# debian/ is left out: a package has its own.
dist:
	@mkdir -p build
	@echo "  DIST  build/$(DIST).tar.xz"
	$(Q)set -e; work=$$(mktemp -d build/dist.XXXXXX); trap 'rm -r "$$work"' EXIT; \
	{ { [ -e .git ] && git ls-files -z; } 2>/dev/null || find . -type f -printf '%P\0'; } | \
		grep -zvE '^(debian/|\.git(/|$$)|build[^/]*/)|\.o$$' | LC_ALL=C sort -z >"$$work/files"; \
	epoch=$${SOURCE_DATE_EPOCH:-$$({ [ -e .git ] && git log -1 --format=%ct; } 2>/dev/null || \
		stat -c %Y Makefile)}; \
	tar -c -f "$$work/tar" --null -T "$$work/files" --format=gnu --owner=0 --group=0 \
		--numeric-owner --mode=u+rw,go=rX --mtime="@$$epoch" --transform='s,^,$(DIST)/,'; \
	XZ_OPT= XZ_DEFAULTS= xz -6 -T1 "$$work/tar"; \
	mv "$$work/tar.xz" build/$(DIST).tar.xz

deb: dist
	rm -rf build/deb build/allocfilt*_*
	mkdir -p build/deb
	cp build/$(DIST).tar.xz build/deb/allocfilt_$(VERSION).orig.tar.xz
	tar -x -f build/$(DIST).tar.xz -C build/deb
	cp -R debian build/deb/$(DIST)/
	chmod -R u=rwX,go=rX build/deb/$(DIST)/debian
	find build/deb/$(DIST)/debian -exec touch -r build/deb/$(DIST)/Makefile {} +
	cd build/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u BUILD dpkg-buildpackage -us -uc
	mv build/deb/allocfilt*_* build/

clean:
	rm -rf build build-san build-fuzz

.PHONY: all unit-tests fuzz-targets fuzz check-unit check check-all bench try demo sample install \
	uninstall dist deb clean
.SECONDARY: $(UNIT_TESTS:=.o) $(FUZZ_TARGETS:=.o)
.DELETE_ON_ERROR:
