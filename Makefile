# SPDX-License-Identifier: GPL-2.0-or-later
#
# make             build/allocfilt
# make check       all tests; installs what they need (root), boots VMs
# make check-unit  the tests that need no network, no root, no VM and install nothing
# make demo        allocfilt at work on a real kernel in a VM
# make install     PREFIX, DESTDIR
# SAN=address,undefined, CC=clang, WERROR=1, V=1

VERSION := 0.1.0

PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= /etc

PKG_CONFIG ?= pkg-config
BUILD ?= build$(if $(SAN),-san)

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wundef -Wvla -Wformat=2 -Wold-style-definition -Wcast-qual \
	-Wno-missing-field-initializers $(if $(WERROR),-Werror)
HARDENING := -fstack-protector-strong $(if $(SAN),,-D_FORTIFY_SOURCE=2)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)

ifeq ($(filter clean check demo,$(MAKECMDGOALS)),)
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

ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(HARDENING) $(SANITIZE) -Iinclude -D_GNU_SOURCE \
	-DALLOCFILT_VERSION='"$(VERSION)"' $(patsubst -I%,-isystem %,$(LIB_CFLAGS)) $(CFLAGS) $(CPPFLAGS)
ALL_LDFLAGS = $(SANITIZE) -Wl,-z,relro,-z,now $(LDFLAGS)

SOURCES := $(sort $(wildcard src/*.c src/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
STAGES := $(filter-out $(BUILD)/src/main.o,$(OBJECTS))
UNIT_SOURCES := $(sort $(wildcard tests/unit/*_test.c))
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)

Q := $(if $(V),,@)

all: $(BUILD)/allocfilt

$(BUILD)/allocfilt: $(OBJECTS)
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS)

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/liballocfilt.a: $(STAGES)
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/liballocfilt.a
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS) -lcmocka

-include $(OBJECTS:.o=.d) $(UNIT_TESTS:%=%.d)

unit-tests: $(UNIT_TESTS)

check-unit: all unit-tests
	$(Q)BUILD=$(BUILD) tests/run unit

check:
	$(Q)tests/run all

demo:
	$(Q)tests/demo

install: all
	install -D -m 755 $(BUILD)/allocfilt $(DESTDIR)$(SBINDIR)/allocfilt
	install -D -m 644 man/allocfilt.8 $(DESTDIR)$(MANDIR)/man8/allocfilt.8

clean:
	rm -rf build build-san

.PHONY: all unit-tests check check-unit demo install clean
.SECONDARY:
.DELETE_ON_ERROR:
